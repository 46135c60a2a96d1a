"""Write a Treewarden plugin in Python. Standard library only, Python 3.9 or newer.

    from treewarden import Plugin

    plugin = Plugin("greeter")
    greeter = plugin.service("greeter")

    @greeter.method(inline=True)
    def ping(call):
        return "pong"

    @greeter.method
    def greet(call):
        return f"hello {call.param('name', str)}, from {plugin.instance().id}"

    @plugin.finalizer
    def goodbye(shutdown):
        plugin.log("info", "goodbye")

    plugin.run()

Create the Plugin before anything prints: it moves the real stdin and stdout out of the way, so that a stray print lands in
the log (SUP-29) and a child process can't swallow the host's lines.

Calls run on threads of a pool that grows with the calls that are open and shrinks to nothing; a method that is ``inline``
runs on the thread that reads, which is cheaper, and must neither block nor call a service.

``shutdown``, the end of stdin (SUP-22) and a broken line all run the finalizers, the last registered first. Run by hand,
outside any node, the plugin reads the identity ``local``, 0 (SUP-14).
"""

from ._calls import Call, Event, Hook
from ._failure import Failure
from ._fence import Fence, StaleGeneration
from ._finish import Shutdown
from ._host import Identity
from ._plugin import Plugin

__all__ = ["Call", "Event", "Failure", "Fence", "Hook", "Identity", "Plugin", "Shutdown", "StaleGeneration"]
