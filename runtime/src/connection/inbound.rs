//! What a plugin asks of the node.

use std::sync::Arc;

use treewarden_model::name::ServiceName;
use treewarden_model::outcome::Cause;
use treewarden_protocol::log::LogRecord;
use treewarden_protocol::service::ServiceCall;
use treewarden_protocol::{
    ErrorKind, ErrorObject, Id, Notification, OwnedId, Request, encode_error, encode_result, method,
};

use super::answer::{CallFailure, Reply};
use super::{Shared, error_for_plugin};
use crate::task;

pub(super) fn request(shared: &Arc<Shared>, request: &Request<'_>) {
    let refusal = match &*request.method {
        method::SERVICE_CALL => match service_call(shared, request) {
            Ok(()) => return,
            Err(refusal) => refusal,
        },
        method::DATA_GET => ErrorObject::new(ErrorKind::Denied, "an entry has no owned data"),
        other => ErrorObject::method_not_found(other),
    };
    answer_error(shared, request.id, &refusal);
}

fn service_call(shared: &Arc<Shared>, request: &Request<'_>) -> Result<(), ErrorObject> {
    let invalid = |why: String| ErrorObject::new(ErrorKind::Invalid, why);
    let params = request.params.map_or("null", |params| params.get());
    let call: ServiceCall<'_> =
        serde_json::from_str(params).map_err(|error| invalid(error.to_string()))?;
    let service = ServiceName::parse(&call.service).map_err(|error| invalid(error.to_string()))?;
    if !shared.uses.contains(&service) {
        let why = format!(
            "service {service} is not among what {} is declared to use",
            shared.tag.entry
        );
        return Err(ErrorObject::new(ErrorKind::Denied, why));
    }
    let Some(permit) = shared.host_permit() else {
        return Err(ErrorObject::new(
            ErrorKind::Capacity,
            "too many calls of this plugin are open (limit 32)",
        ));
    };
    let answer = shared.host.service_call(
        &shared.tag,
        service,
        call.method.into_owned(),
        call.params.map(ToOwned::to_owned),
    );
    let (shared, id) = (shared.clone(), request.id.to_owned_id());
    task::spawn("call of a plugin", async move {
        let reply = answer.await;
        respond(&shared, &id, reply);
        drop(permit);
    });
    Ok(())
}

fn respond(shared: &Arc<Shared>, id: &OwnedId, reply: Reply) {
    let sent = match &reply {
        Ok(result) => shared
            .outbound
            .append(shared, |buffer| encode_result(buffer, id.as_id(), result)),
        Err(failure) => {
            answer_error(shared, id.as_id(), &error_for_plugin(failure));
            return;
        }
    };
    if let Err(CallFailure::TooLarge(why)) = sent {
        answer_error(
            shared,
            id.as_id(),
            &ErrorObject::new(ErrorKind::Invalid, why),
        );
    } else if let Err(CallFailure::Capacity(_)) = sent {
        shared.trouble(
            "it does not read what it asked for".to_owned(),
            Cause::Crashed,
        );
    }
}

fn answer_error(shared: &Arc<Shared>, id: Id<'_>, error: &ErrorObject) {
    let sent = shared
        .outbound
        .append(shared, |buffer| encode_error(buffer, Some(id), error));
    if let Err(CallFailure::Capacity(_)) = sent {
        shared.trouble(
            "it does not read what it asked for".to_owned(),
            Cause::Crashed,
        );
    }
}

pub(super) fn notification(shared: &Shared, notification: &Notification<'_>) {
    if notification.method == method::LOG
        && let Some(record) = notification
            .params
            .and_then(|params| serde_json::from_str::<LogRecord<'_>>(params.get()).ok())
    {
        shared
            .host
            .log(&shared.tag, record.level.as_str(), &record.message);
    }
}
