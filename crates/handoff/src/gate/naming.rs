//! Whether the paths of an index are those that the ids of its samples say (HO-09). Looks at no file.

use crate::{
    Part,
    package::{Execution, INDEX},
    part::iteration_of,
    problem::{Findings, Place, code},
};

pub(super) fn check(execution: &Execution, findings: &mut Findings) {
    for (index, entry) in execution.index.iter().enumerate() {
        for part in Part::CASE {
            let Some(path) = entry.path(part) else { continue };
            let expected = part.file(&entry.sample_id);
            if path.as_str() == expected {
                continue;
            }
            let field = format!("{INDEX}/{index}/{}", part.path_field());
            let name = expected.rsplit('/').next().unwrap_or(&expected);
            // A file of another sample would be taken for this one's.
            if path.file_name() != name {
                let message = format!("must be a file named {name}");
                findings.error(code::INVALID_PACKAGE, Place::field(&field), message);
            } else {
                findings.warning("odd_path", Place::field(&field), format!("is usually {expected}"));
            }
        }
    }
    if execution.report.as_str() != Part::Report.file("") {
        let message = format!("is usually {}", Part::Report.file(""));
        findings.warning("odd_path", Place::field(Part::Report.path_field()), message);
    }
    if iteration_of(&execution.dir).is_none() {
        let message = "is usually a directory named iteration_<n>";
        findings.warning("odd_path", Place::field("execution_output_dir"), message);
    }
}
