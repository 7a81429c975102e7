//! Handoff packages: checked, accepted, found again, loaded (API-12).

use super::{documents, handoff_root::Root, next_cursor, remembered};
use crate::{
    error::{Answer, ApiError},
    request::Request,
    respond,
};
use axum::http::StatusCode;
use cardwire_api::{
    ErrorCode,
    handoffs::{HandoffList, HandoffOut, LoadIn, LoadOut, ValidOut, gate, problems},
    parse,
    workspace::PackageOut,
};
use cardwire_handoff::{
    CheckOptions, Checked, Fingerprints, HashAllowance, Load, LoadRequest, Package, Problem, SafePath, Types,
    check_report, is_report, keep_complete_index, load_accepted, package_from_directory,
};
use cardwire_kernel::{
    Done, HandoffView, KernelError, NewHandoff, Results,
    protocol::{Rejection, handoff::Accepted},
};
use cardwire_model::{
    AgentId, CancelFlag, CanonicalJson, Invalid, Origin, ResourceKind, ResourceName, Scope,
    limits::{HANDOFF_HASH_SECONDS, HANDOFF_HASHED_BYTES},
    token_count,
};
use serde_json::Value;
use std::{collections::BTreeSet, sync::Arc};

/// HO-01..HO-15: all checks come first, and nothing is registered before every one of them is passed.
pub(crate) async fn create(request: Request) -> Answer {
    let (kernel, project) = (&request.state.kernel, request.project()?.clone());
    // Whoever asks again is given the first answer, whatever became of the files since.
    if let Some(remember) = request.remember::<Accepted>(|_| None)?
        && let Some(answer) = kernel.answered(&project, &remember.key).await?
    {
        return respond::replayed(answer);
    }
    let sender = sender(&request).await?;
    let checked = read(&request).await?;
    let root = Root::of_paths(&request, checked.whole.roots()).await?;
    let mut checked = on_disk(&request, checked, &root).await?;
    let whole = Arc::new(checked.whole);
    let prints = fingerprints(&request, &whole, &root).await?;
    checked.warnings.extend(prints.warning());
    let complete = checked.fitted.complete_index;
    let (package, warnings) = (Arc::new(checked.fitted.package), Arc::new(checked.warnings));
    let (report, file_bytes) = (checked.report, checked.file_bytes);
    let results = match package.output_dir() {
        Some(directory) => {
            let documents = prints.documents();
            let files = documents.iter().map(CanonicalJson::from_value).collect::<Result<_, _>>()?;
            Some(Results { directory: directory.to_owned(), report, file_bytes, files })
        }
        None => None,
    };
    let origin = match (&sender, request.by()?.token.allows(Scope::Operate)) {
        (Some(_), _) => Origin::Agent,
        (None, true) => Origin::Operator,
        (None, false) => Origin::External,
    };
    let content = CanonicalJson::from_value(package.value())?;
    let new = NewHandoff { package: content, results, sender, origin, in_shared_root: root.is_shared };
    if let Some(complete) = complete {
        // What will be refused leaves nothing on disk.
        kernel.check_handoff(&project, &new).await?;
        let keep = move || Ok(keep_complete_index(&whole, &complete, &*root.files)?);
        request.state.workspace.look(keep).await?;
    }
    let told = (Arc::clone(&package), Arc::clone(&warnings));
    let remember = request.remember(move |accepted: &Accepted| {
        remembered(StatusCode::CREATED, &accepted_out(accepted, &told.0, &told.1))
    })?;
    match kernel.accept_handoff(&project, &request.caller()?, new, remember.as_ref()).await? {
        Done::Replayed(answer) => respond::replayed(answer),
        Done::Fresh(accepted) => respond::created(&accepted_out(&accepted, &package, &warnings)),
    }
}

/// The agent that sends a package, which must be there.
async fn sender(request: &Request) -> Result<Option<AgentId>, ApiError> {
    let Some(agent) = request.parsed::<AgentId>("agent_id")? else { return Ok(None) };
    request.state.kernel.agent(request.project()?, &agent).await?;
    Ok(Some(agent))
}

fn accepted_out(accepted: &Accepted, package: &Package, warnings: &[Problem]) -> HandoffOut {
    HandoffOut::accepted(&accepted.resource, accepted.box_id, package, warnings)
}

/// A package or a report that is sound is answered with its warnings, any other with all that is wrong.
pub(crate) async fn validate(request: Request) -> Answer {
    let body = request.body.clone();
    let report = move |_: &CancelFlag| match json(&body) {
        Ok(body) if is_report(&body) => Ok(Some(ValidOut {
            valid: true,
            kind: "report",
            handoff_type: None,
            token_estimate: token_count::estimate_content(&CanonicalJson::from_value(&body)?),
            warnings: problems(&check_report(&body)?),
        })),
        Ok(_) | Err(_) => Ok(None),
    };
    if let Some(report) = request.compute(request.body.len(), report).await? {
        return respond::ok(&report);
    }
    let checked = read(&request).await?;
    let reaches_all = request.project.is_some() || request.by()?.token.realm.project().is_none();
    let checked = if reaches_all {
        let root = Root::of_paths(&request, checked.whole.roots()).await?;
        on_disk(&request, checked, &root).await?
    } else {
        checked
    };
    respond::ok(&ValidOut {
        valid: true,
        kind: "package",
        handoff_type: Some(checked.fitted.package.handoff_type().to_owned()),
        token_estimate: checked.fitted.token_estimate,
        warnings: problems(&checked.warnings),
    })
}

pub(crate) async fn list(request: Request) -> Answer {
    let (limit, after) = (request.page_limit()?, request.parsed("cursor")?);
    let project = request.project()?;
    let page = request.state.kernel.list_handoffs(project, after.as_ref(), limit).await?;
    let mut items = vec![];
    for view in &page {
        let (package, warnings) = stored(view)?;
        items.push(HandoffOut::new(view, &package, &warnings));
    }
    respond::ok(&HandoffList { items, next_cursor: next_cursor(&page, limit, |view| view.id.to_string()) })
}

/// LD-09: no file is read.
pub(crate) async fn get(request: Request) -> Answer {
    let view = view(&request).await?;
    let (package, warnings) = stored(&view)?;
    let out = HandoffOut::new(&view, &package, &warnings);
    respond::ok(&HandoffOut { package: Some(package.into_value()), ..out })
}

/// LD-01..LD-08
pub(crate) async fn load(request: Request) -> Answer {
    let body: LoadIn = if request.body.is_empty() { LoadIn::default() } else { request.body().await? };
    let wanted = body.into_request()?;
    let view = view(&request).await?;
    let loaded = loaded(&request, &view, wanted).await?;
    respond::ok(&LoadOut::new(view.id.to_string(), loaded))
}

/// What is loaded of a package.
pub(crate) async fn loaded(
    request: &Request,
    view: &HandoffView,
    wanted: LoadRequest,
) -> Result<Load, ApiError> {
    let (package, _) = stored(view)?;
    let root = Root::of_accepted(request, view, package.roots()).await?;
    let documents = request.state.kernel.handoff_files(request.project()?, view).await?;
    let report = view.report_sha256.clone();
    let lengths = view.file_bytes.clone();
    let load = move || {
        let accepted = Fingerprints::read(report.as_deref(), &lengths, &documents);
        Ok(load_accepted(&package, &*root.files, &wanted, &accepted)?)
    };
    request.state.workspace.look(load).await
}

/// What agents ask for who send a directory.
pub(crate) async fn pack(request: Request) -> Answer {
    let body = request.body.clone();
    let about = move |_: &CancelFlag| {
        let about = json(&body).or_else(|invalid| match loose(&body) {
            // HO-10: such a directory is refused for its name, before a file is looked at.
            Some(about) if about["execution_output_dir"].as_str().is_some_and(is_unsafe) => Ok(about),
            Some(_) | None => Err(invalid),
        });
        Ok(about?)
    };
    let mut about = request.compute(request.body.len(), about).await?;
    if about.is_object() && about["timestamp"].is_null() {
        about["timestamp"] = request.state.kernel.now().to_string().into();
    }
    let directory = about["execution_output_dir"].as_str().unwrap_or_default().to_owned();
    let paths = SafePath::parse(&directory).into_iter().collect();
    let files = Root::of_paths(&request, paths).await?.files;
    let made =
        request.state.workspace.look(move || Ok(package_from_directory(&*files, &directory, about)?)).await?;
    respond::ok(&PackageOut { package: made })
}

/// The package in the body.
async fn read(request: &Request) -> Result<Checked, ApiError> {
    gate(request.text("gate"))?;
    let body = request.body.clone();
    let read = move |_: &CancelFlag| match json(&body) {
        Ok(value) => Ok((value, None)),
        // HO-10: a path with NUL is an unsafe path before it is a text that cannot be kept.
        Err(invalid) => match loose(&body) {
            Some(value) => Ok((value, Some(invalid))),
            None => Err(invalid.into()),
        },
    };
    let (value, invalid) = request.compute(request.body.len(), read).await?;
    let checked = parse_package(request, value).await;
    match (checked, invalid) {
        (checked, None) => checked,
        (Err(error), Some(_)) if error.code == ErrorCode::UnsafePath => Err(error),
        (_, Some(invalid)) => Err(invalid.into()),
    }
}

/// How long a check by a schema takes is not told by the size of the package, so that it is never made at once.
async fn parse_package(request: &Request, body: Value) -> Result<Checked, ApiError> {
    let typed = request.text("handoff_type").map(str::to_owned);
    let documents = types(request, typed.as_deref().into_iter().chain(type_of(&body))).await?;
    let bytes = if documents.is_empty() { request.body.len() } else { usize::MAX };
    let checked = move |cancel: &CancelFlag| {
        let mut types = Types::built_in();
        for (name, document) in &documents {
            register(&mut types, name, document)?;
        }
        Ok(Checked::parse(body, typed.as_deref(), &types.until(cancel.clone()))?)
    };
    request.compute(bytes, checked).await
}

/// The same with what it refers to.
async fn on_disk(request: &Request, checked: Checked, root: &Root) -> Result<Checked, ApiError> {
    let files = Arc::clone(&root.files);
    let (gate, deep) = (gate(request.text("gate"))?, request.flag("deep")?.unwrap_or(false));
    let look = move || Ok(checked.on_disk(&*files, &CheckOptions { gate, deep, progress: &|_| {} })?);
    request.state.workspace.look(look).await
}

/// What the files of a package are now, so that a later load knows those that were rewritten (HO-11).
async fn fingerprints(
    request: &Request,
    package: &Arc<Package>,
    root: &Root,
) -> Result<Fingerprints, ApiError> {
    let (package, files) = (Arc::clone(package), Arc::clone(&root.files));
    let kernel = Arc::clone(&request.state.kernel);
    let take = move || {
        let until = kernel.now().plus_seconds(HANDOFF_HASH_SECONDS);
        let has_time = || kernel.now() < until;
        let allowance = HashAllowance { bytes: HANDOFF_HASHED_BYTES, has_time: &has_time };
        Ok(Fingerprints::take(&package, &*files, &allowance)?)
    };
    request.state.workspace.hash(take).await
}

/// Writes a further kind of packages, if its schema can be used.
pub(crate) async fn put_type(request: Request) -> Answer {
    let name: ResourceName = request.param("type_name")?;
    let (json, kind) = (request.json().await?, name);
    // What a schema takes to be read is not told by its size.
    let check = move |_: &CancelFlag| register(&mut Types::built_in(), &kind, &parse::body::<Value>(&json)?);
    request.compute(usize::MAX, check).await?;
    documents::put(request, ResourceKind::HandoffType).await
}

/// The documents of the further types of packages that are known here, as far as these names go.
async fn types(
    request: &Request,
    names: impl Iterator<Item = &str>,
) -> Result<Vec<(ResourceName, Value)>, ApiError> {
    let (built_in, mut documents) = (Types::built_in(), vec![]);
    let Some(project) = &request.project else { return Ok(documents) };
    let names: BTreeSet<&str> = names.filter(|name| !built_in.knows(name)).collect();
    for name in names {
        // A name that cannot be one is no type either.
        let Ok(name) = name.parse::<ResourceName>() else { continue };
        match request.state.kernel.resource(project, ResourceKind::HandoffType, &name).await {
            Ok((_, card)) => documents.push((name, card.content.to_value())),
            Err(KernelError::Rejected(Rejection::NotFound { .. })) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(documents)
}

fn register(types: &mut Types, name: &ResourceName, document: &Value) -> Result<(), ApiError> {
    let fields = document["path_fields"].as_array().into_iter().flatten();
    let fields = fields.filter_map(Value::as_str).map(str::to_owned).collect();
    Ok(types.register(name.as_str(), document["schema"].clone(), fields)?)
}

/// The body, as strictly as cards are read: what cannot be kept as it is, is refused (HO-14).
fn json(body: &[u8]) -> Result<Value, Invalid> {
    let text = std::str::from_utf8(body).map_err(|_| Invalid::field("body", "must be UTF-8"))?;
    let body = CanonicalJson::parse(text, "body")?.to_value();
    if body.is_object() { Ok(body) } else { Err(Invalid::field("body", "must be an object")) }
}

/// A body that cannot be kept as it is, to find out what is wrong with it. Nothing else is done with it.
fn loose(body: &[u8]) -> Option<Value> {
    serde_json::from_slice(body).ok()
}

fn is_unsafe(path: &str) -> bool {
    SafePath::parse(path).is_err()
}

/// The type that a package says it is of.
fn type_of(package: &Value) -> Option<&str> {
    package["handoff_type"].as_str()
}

pub(crate) async fn view(request: &Request) -> Result<HandoffView, ApiError> {
    let id: ResourceName = request.param("handoff_id")?;
    Ok(request.state.kernel.handoff(request.project()?, &id).await?)
}

/// A package that was accepted, with what can be said of it without looking at files.
pub(crate) fn stored(view: &HandoffView) -> Result<(Package, Vec<Problem>), ApiError> {
    let package = view.card.content.to_value();
    let mut types = Types::built_in();
    if let Some(name) = type_of(&package).filter(|name| !types.knows(name)) {
        // It was sound when it came in; what its type has become since is nothing to it (HO-14).
        types.register(name, serde_json::json!({}), vec![])?;
    }
    Ok(Package::parse(package, None, &types)?)
}
