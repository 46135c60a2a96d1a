//! The stable codes of problems, with their status.

use axum::http::StatusCode;

macro_rules! codes {
    ($($(#[$doc:meta])* $variant:ident $code:literal $status:ident $title:literal;)*) => {
        /// What went wrong. Clients hold on to the word; the title is for people.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub(crate) enum Code {
            $($(#[$doc])* $variant,)*
        }

        impl Code {
            /// All of them.
            #[cfg(test)]
            pub(crate) const ALL: &[Self] = &[$(Self::$variant),*];

            /// The word.
            pub(crate) const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $code,)* }
            }

            /// The HTTP status it is sent with.
            pub(crate) const fn status(self) -> StatusCode {
                match self { $(Self::$variant => StatusCode::$status,)* }
            }

            /// The same few words for every problem of this code.
            pub(crate) const fn title(self) -> &'static str {
                match self { $(Self::$variant => $title,)* }
            }
        }
    };
}

codes! {
    /// The body is no JSON.
    InvalidJson "invalid_json" BAD_REQUEST "The body is not JSON";
    /// A cursor that no list gave.
    InvalidCursor "invalid_cursor" BAD_REQUEST "The cursor is not valid";
    /// No token, or one that nobody has.
    NotAuthenticated "not_authenticated" UNAUTHORIZED "Not authenticated";
    /// The token does not allow the operation.
    PermissionDenied "permission_denied" FORBIDDEN "Permission denied";
    /// Nothing is served there.
    NotFound "not_found" NOT_FOUND "Not found";
    /// No such entry.
    EntryNotFound "entry_not_found" NOT_FOUND "Entry not found";
    /// The path is served, but not with this method.
    MethodNotAllowed "method_not_allowed" METHOD_NOT_ALLOWED "Method not allowed";
    /// The body took too long.
    RequestTimeout "request_timeout" REQUEST_TIMEOUT "The request took too long";
    /// The entry failed for good.
    EntryFailed "entry_failed" CONFLICT "The entry failed";
    /// The entry is being removed.
    EntryRemoving "entry_removing" CONFLICT "The entry is being removed";
    /// Somebody asked for the opposite meanwhile.
    RequestSuperseded "request_superseded" CONFLICT "A later request decided otherwise";
    /// The exit of the last launch is not confirmed (SUP-12).
    TerminationUnconfirmed "termination_unconfirmed" CONFLICT "The exit is not confirmed";
    /// Not the current launch any more (SUP-16).
    StaleGeneration "stale_generation" CONFLICT "The launch is not the current one";
    /// The body is too long.
    BodyTooLarge "body_too_large" PAYLOAD_TOO_LARGE "The body is too large";
    /// The body is of another kind than JSON.
    UnsupportedMediaType "unsupported_media_type" UNSUPPORTED_MEDIA_TYPE "Unsupported media type";
    /// The `Host` is none of the node's.
    HostNotAllowed "host_not_allowed" MISDIRECTED_REQUEST "The host is not served here";
    /// The wrong shape.
    InvalidRequest "invalid_request" UNPROCESSABLE_ENTITY "The request is not valid";
    /// The plugin's own error.
    PluginError "plugin_error" UNPROCESSABLE_ENTITY "The plugin answered with an error";
    /// The configuration file is wrong.
    ConfigInvalid "config_invalid" UNPROCESSABLE_ENTITY "The configuration is not valid";
    /// A limit is reached.
    CapacityExhausted "capacity_exhausted" TOO_MANY_REQUESTS "A limit is reached";
    /// The fault is the node's.
    Internal "internal_error" INTERNAL_SERVER_ERROR "The node failed to answer";
    /// The connection to the plugin was lost.
    ConnectionLost "connection_lost" BAD_GATEWAY "The connection to the plugin was lost";
    /// The service is not available.
    ServiceUnavailable "service_unavailable" SERVICE_UNAVAILABLE "The service is not available";
    /// The node is not ready.
    NotReady "not_ready" SERVICE_UNAVAILABLE "The node is not ready";
    /// The store failed (SUP-38).
    StoreFailed "store_failed" SERVICE_UNAVAILABLE "The store failed";
    /// The node shuts down.
    ShuttingDown "shutting_down" SERVICE_UNAVAILABLE "The node is shutting down";
    /// No answer in time.
    DeadlineExceeded "deadline_exceeded" GATEWAY_TIMEOUT "No answer in time";
}
