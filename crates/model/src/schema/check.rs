//! Runs a schema on a value. Every subschema, keyword, member and item that is looked at is a step.
//!
//! What must hold in any case is looked through to its end, so that all of it can be told at once; what may hold or not
//! (`anyOf`, `not`, `if`) is given up at the first thing that does not.

use super::{
    Misfit,
    bounds::{Steps, Unfinished},
    compare::{BYTES_PER_STEP, all_differ, equal},
    keyword::{Contains, Id, Items, Keyword, Members, Node},
    number::Exact,
    pattern::Matcher,
    place::{Place, Step, pointer},
    words,
};
use crate::limits;
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// Every reason why a value does not fit, as far as the limit goes.
pub(super) fn misfits(nodes: &[Node], value: &Value, steps: &mut Steps) -> Result<Vec<Misfit>, Unfinished> {
    let mut run = Run { nodes, steps, matcher: Matcher::default(), nesting: 0, misfits: vec![] };
    match run.check(0, value, Look { at: None, tell: true }, None) {
        // What was found is reason enough.
        Err(Unfinished::OutOfSteps | Unfinished::TooDeep) if !run.misfits.is_empty() => Ok(run.misfits),
        Err(why) => Err(why),
        Ok(_) => Ok(run.misfits),
    }
}

struct Run<'r> {
    nodes: &'r [Node],
    steps: &'r mut Steps,
    matcher: Matcher,
    /// How many schemas are being applied within one another.
    nesting: usize,
    misfits: Vec<Misfit>,
}

/// How a part of the value is looked at.
#[derive(Clone, Copy)]
struct Look<'p> {
    at: Option<&'p Place<'p>>,
    /// What does not fit is told.
    tell: bool,
}

impl Look<'_> {
    /// The same without telling.
    fn quiet(self) -> Self {
        Self { tell: false, ..self }
    }
}

/// What of one array or object some keyword has dealt with.
#[derive(Default)]
struct Evaluated<'v> {
    names: BTreeSet<&'v str>,
    /// All items before this one.
    items: usize,
    /// And these.
    single: BTreeSet<usize>,
}

/// Steps for noting a member or item: for the memory as much as for the time.
const NOTE_STEPS: usize = 24;

/// Steps for a look at a multiple, which goes through the digits of both numbers.
const MULTIPLE_STEPS: usize = 64;

/// Steps for finding one of so many names.
fn search_steps(names: usize) -> usize {
    1 + names.max(1).ilog2() as usize / 2
}

type Outcome = Result<bool, Unfinished>;

impl<'v> Evaluated<'v> {
    fn add(&mut self, other: Self, steps: &mut Steps) -> Result<(), Unfinished> {
        steps.take(NOTE_STEPS * (other.names.len() + other.single.len()))?;
        self.items = self.items.max(other.items);
        self.names.extend(other.names);
        self.single.extend(other.single);
        Ok(())
    }
}

impl Run<'_> {
    /// Whether a value fits a schema.
    fn check<'v>(
        &mut self,
        id: Id,
        value: &'v Value,
        look: Look<'_>,
        outer: Option<&mut Evaluated<'v>>,
    ) -> Outcome {
        self.steps.take(1)?;
        if self.nesting >= limits::SCHEMA_NESTING {
            return Err(Unfinished::TooDeep);
        }
        self.nesting += 1;
        let node = &self.nodes[id];
        let fits = if node.asks_what_is_evaluated {
            let mut own = Evaluated::default();
            let fits = self.keywords(node, value, look, Some(&mut own))?;
            if let (true, Some(outer)) = (fits, outer) {
                outer.add(own, self.steps)?;
            }
            fits
        } else {
            self.keywords(node, value, look, outer)?
        };
        self.nesting -= 1;
        Ok(fits)
    }

    fn keywords<'v>(
        &mut self,
        node: &Node,
        value: &'v Value,
        look: Look<'_>,
        mut evaluated: Option<&mut Evaluated<'v>>,
    ) -> Outcome {
        let mut fits = true;
        for keyword in &node.keywords {
            self.steps.take(1)?;
            let asks = matches!(keyword, Keyword::UnevaluatedItems(_) | Keyword::UnevaluatedProperties(_));
            // Where something does not fit already, what it left unevaluated is no news.
            if asks && !fits {
                continue;
            }
            if !self.keyword(keyword, value, look, evaluated.as_deref_mut())? {
                fits = false;
                if !look.tell || self.misfits.len() >= limits::SCHEMA_MISFITS {
                    break;
                }
            }
        }
        Ok(fits)
    }

    fn keyword<'v>(
        &mut self,
        keyword: &Keyword,
        value: &'v Value,
        look: Look<'_>,
        evaluated: Option<&mut Evaluated<'v>>,
    ) -> Outcome {
        let holds = match (keyword, value) {
            (Keyword::Nothing, _) => false,
            (Keyword::Type(kinds), _) => kinds.include(value),
            (Keyword::Enum(options), _) => self.is_one_of(value, options)?,
            (Keyword::Const(expected), _) => equal(value, expected, self.steps)?,
            (Keyword::Least { limit, exclusive }, Value::Number(number)) => {
                let order = Exact::of(number).compare(*limit);
                if *exclusive { order.is_gt() } else { order.is_ge() }
            }
            (Keyword::Most { limit, exclusive }, Value::Number(number)) => {
                let order = Exact::of(number).compare(*limit);
                if *exclusive { order.is_lt() } else { order.is_le() }
            }
            (Keyword::MultipleOf(of), Value::Number(number)) => {
                self.steps.take(MULTIPLE_STEPS)?;
                Exact::of(number).is_multiple_of(*of)
            }
            (Keyword::MinLength(least), Value::String(text)) => self.length(text)? >= *least,
            (Keyword::MaxLength(most), Value::String(text)) => self.length(text)? <= *most,
            (Keyword::Pattern(pattern), Value::String(text)) => {
                self.matcher.matches(pattern, text, self.steps)?
            }
            (Keyword::MinItems(least), Value::Array(items)) => items.len() as u64 >= *least,
            (Keyword::MaxItems(most), Value::Array(items)) => items.len() as u64 <= *most,
            (Keyword::UniqueItems, Value::Array(items)) => all_differ(items, self.steps)?,
            (Keyword::Contains(contains), Value::Array(items)) => {
                self.contains(contains, items, look, evaluated)?
            }
            (Keyword::MinProperties(least), Value::Object(members)) => members.len() as u64 >= *least,
            (Keyword::MaxProperties(most), Value::Object(members)) => members.len() as u64 <= *most,
            (Keyword::AnyOf(all), _) => self.any_of(all, value, look, evaluated)?,
            (Keyword::OneOf(all), _) => match self.one_of(all, value, look, evaluated)? {
                1 => true,
                // Which of the two it is, is told here.
                fitting => return Ok(self.says(false, look, || words::one_of(fitting))),
            },
            (Keyword::Not(inner), _) => !self.check(*inner, value, look.quiet(), None)?,
            // These tell themselves.
            (Keyword::Items(items), Value::Array(all)) => return self.items(items, all, look, evaluated),
            (Keyword::Members(members), Value::Object(all)) => {
                return self.members(members, all, look, evaluated);
            }
            (Keyword::Required(names), Value::Object(all)) => return self.required(names, all, look),
            (Keyword::DependentRequired(needs), Value::Object(all)) => {
                return self.dependent_required(needs, all, look);
            }
            (Keyword::PropertyNames(inner), Value::Object(all)) => return self.names(*inner, all, look),
            (Keyword::UnevaluatedItems(inner), Value::Array(all)) => {
                return self.unevaluated_items(*inner, all, look, evaluated);
            }
            (Keyword::UnevaluatedProperties(inner), Value::Object(all)) => {
                return self.unevaluated_properties(*inner, all, look, evaluated);
            }
            (Keyword::Ref(_) | Keyword::AllOf(_) | Keyword::DependentSchemas(_) | Keyword::If { .. }, _) => {
                return self.applied(keyword, value, look, evaluated);
            }
            // It is about values of another type.
            _ => true,
        };
        Ok(self.says(holds, look, || words::of(keyword)))
    }

    /// Tells why something does not fit, where that is wanted.
    fn says(&mut self, holds: bool, look: Look<'_>, why: impl FnOnce() -> String) -> bool {
        if !holds && look.tell && self.misfits.len() < limits::SCHEMA_MISFITS {
            self.misfits.push(Misfit { place: pointer(look.at), message: words::cut(why()) });
        }
        holds
    }

    fn is_one_of(&mut self, value: &Value, options: &[Value]) -> Outcome {
        for option in options {
            if equal(value, option, self.steps)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn length(&mut self, text: &str) -> Result<u64, Unfinished> {
        self.steps.take(text.len() / BYTES_PER_STEP)?;
        Ok(text.chars().count() as u64)
    }

    /// All of some schemas, on the same value.
    fn applied<'v>(
        &mut self,
        keyword: &Keyword,
        value: &'v Value,
        look: Look<'_>,
        mut evaluated: Option<&mut Evaluated<'v>>,
    ) -> Outcome {
        let (mut fits, mut all) = (true, vec![]);
        if let Keyword::Ref(inner) = keyword {
            return self.check(*inner, value, look, evaluated);
        } else if let Keyword::AllOf(schemas) = keyword {
            all.extend(schemas.iter().copied());
        } else if let (Keyword::DependentSchemas(needs), Value::Object(members)) = (keyword, value) {
            self.steps.take(needs.len() * search_steps(members.len()))?;
            all.extend(needs.iter().filter(|(name, _)| members.contains_key(name)).map(|(_, inner)| *inner));
        } else if let Keyword::If { test, then, otherwise } = keyword {
            let mut own = evaluated.is_some().then(Evaluated::default);
            let holds = self.check(*test, value, look.quiet(), own.as_mut())?;
            if let (true, Some(own), Some(evaluated)) = (holds, own, evaluated.as_deref_mut()) {
                evaluated.add(own, self.steps)?;
            }
            all.extend(if holds { *then } else { *otherwise });
        }
        for inner in all {
            fits &= self.check(inner, value, look, evaluated.as_deref_mut())?;
            if !fits && !look.tell {
                break;
            }
        }
        Ok(fits)
    }

    fn any_of<'v>(
        &mut self,
        all: &[Id],
        value: &'v Value,
        look: Look<'_>,
        mut evaluated: Option<&mut Evaluated<'v>>,
    ) -> Outcome {
        let mut any = false;
        for inner in all {
            let mut own = evaluated.is_some().then(Evaluated::default);
            if self.check(*inner, value, look.quiet(), own.as_mut())? {
                any = true;
                match (own, evaluated.as_deref_mut()) {
                    (Some(own), Some(evaluated)) => evaluated.add(own, self.steps)?,
                    // Nobody asks what the others evaluate.
                    (Some(_) | None, _) => break,
                }
            }
        }
        Ok(any)
    }

    /// How many fit: none, one, or two for more.
    fn one_of<'v>(
        &mut self,
        all: &[Id],
        value: &'v Value,
        look: Look<'_>,
        evaluated: Option<&mut Evaluated<'v>>,
    ) -> Result<u8, Unfinished> {
        let (mut fitting, mut first) = (0, None);
        for inner in all {
            let mut own = evaluated.is_some().then(Evaluated::default);
            if self.check(*inner, value, look.quiet(), own.as_mut())? {
                fitting += 1;
                if fitting == 2 {
                    return Ok(fitting);
                }
                first = own;
            }
        }
        if let (Some(first), Some(evaluated)) = (first, evaluated) {
            evaluated.add(first, self.steps)?;
        }
        Ok(fitting)
    }

    fn contains<'v>(
        &mut self,
        contains: &Contains,
        items: &'v [Value],
        look: Look<'_>,
        mut evaluated: Option<&mut Evaluated<'v>>,
    ) -> Outcome {
        let mut count = 0;
        for (index, item) in items.iter().enumerate() {
            if !self.check(contains.schema, item, look.quiet(), None)? {
                continue;
            }
            count += 1;
            if let Some(evaluated) = evaluated.as_deref_mut().filter(|_| contains.evaluates) {
                self.steps.take(NOTE_STEPS)?;
                evaluated.single.insert(index);
            } else if count >= contains.least && contains.most.is_none() {
                break;
            }
            if contains.most.is_some_and(|most| count > most) {
                return Ok(false);
            }
        }
        Ok(count >= contains.least)
    }

    fn items<'v>(
        &mut self,
        items: &Items,
        all: &'v [Value],
        look: Look<'_>,
        evaluated: Option<&mut Evaluated<'v>>,
    ) -> Outcome {
        let mut fits = true;
        let schemas = items.prefix.iter().copied().map(Some).chain(std::iter::repeat(items.rest));
        for ((index, item), schema) in all.iter().enumerate().zip(schemas) {
            let Some(schema) = schema else { break };
            let at = Place { above: look.at, step: Step::Item(index) };
            fits &= self.check(schema, item, Look { at: Some(&at), ..look }, None)?;
            if !fits && !look.tell {
                return Ok(false);
            }
        }
        if let Some(evaluated) = evaluated {
            let reach = if items.rest.is_some() { all.len() } else { items.prefix.len() };
            evaluated.items = evaluated.items.max(reach);
        }
        Ok(fits)
    }

    fn members<'v>(
        &mut self,
        members: &Members,
        all: &'v Map<String, Value>,
        look: Look<'_>,
        mut evaluated: Option<&mut Evaluated<'v>>,
    ) -> Outcome {
        let (mut fits, mut unexpected) = (true, vec![]);
        let search = search_steps(members.named.len());
        for (name, value) in all {
            self.steps.take(search + name.len() / BYTES_PER_STEP)?;
            let mut schemas = vec![];
            if let Ok(place) = members.named.binary_search_by(|(named, _)| named.cmp(name)) {
                schemas.push(members.named[place].1);
            }
            for (pattern, schema) in &members.matching {
                if self.matcher.matches(pattern, name, self.steps)? {
                    schemas.push(*schema);
                }
            }
            if schemas.is_empty() {
                schemas.extend(members.others);
                if members.others.is_some_and(|others| self.nodes[others].is_nothing()) {
                    unexpected.push(name.as_str());
                    fits = false;
                    schemas.clear();
                }
            }
            if !schemas.is_empty()
                && let Some(evaluated) = evaluated.as_deref_mut()
            {
                self.steps.take(NOTE_STEPS)?;
                evaluated.names.insert(name);
            }
            let at = Place { above: look.at, step: Step::Member(name) };
            for schema in schemas {
                fits &= self.check(schema, value, Look { at: Some(&at), ..look }, None)?;
            }
            if !fits && !look.tell {
                return Ok(false);
            }
        }
        self.says(unexpected.is_empty(), look, || words::unexpected("Additional properties", &unexpected));
        Ok(fits)
    }

    fn required(&mut self, names: &[String], all: &Map<String, Value>, look: Look<'_>) -> Outcome {
        let mut fits = true;
        let search = search_steps(all.len());
        for name in names {
            self.steps.take(search + name.len() / BYTES_PER_STEP)?;
            fits &= self.says(all.contains_key(name), look, || words::required(name));
            if !fits && !look.tell {
                break;
            }
        }
        Ok(fits)
    }

    fn dependent_required(
        &mut self,
        needs: &[(String, Vec<String>)],
        all: &Map<String, Value>,
        look: Look<'_>,
    ) -> Outcome {
        let mut fits = true;
        let search = search_steps(all.len());
        for (name, names) in needs {
            self.steps.take(search + name.len() / BYTES_PER_STEP)?;
            if all.contains_key(name) {
                fits &= self.required(names, all, look)?;
            }
        }
        Ok(fits)
    }

    fn names(&mut self, inner: Id, all: &Map<String, Value>, look: Look<'_>) -> Outcome {
        let mut fits = true;
        for name in all.keys() {
            self.steps.take(name.len() / BYTES_PER_STEP)?;
            fits &= self.check(inner, &Value::String(name.clone()), look, None)?;
            if !fits && !look.tell {
                break;
            }
        }
        Ok(fits)
    }

    fn unevaluated_items<'v>(
        &mut self,
        inner: Id,
        all: &'v [Value],
        look: Look<'_>,
        evaluated: Option<&mut Evaluated<'v>>,
    ) -> Outcome {
        let Some(evaluated) = evaluated else { return Ok(true) };
        let (mut fits, mut unexpected) = (true, 0);
        let is_nothing = self.nodes[inner].is_nothing();
        for (index, item) in all.iter().enumerate().skip(evaluated.items) {
            self.steps.take(1)?;
            if evaluated.single.contains(&index) {
                continue;
            }
            if is_nothing {
                unexpected += 1;
                fits = false;
            } else {
                let at = Place { above: look.at, step: Step::Item(index) };
                fits &= self.check(inner, item, Look { at: Some(&at), ..look }, None)?;
            }
            if !fits && !look.tell {
                return Ok(false);
            }
        }
        evaluated.items = all.len();
        self.says(unexpected == 0, look, || words::unevaluated_items(unexpected));
        Ok(fits)
    }

    fn unevaluated_properties<'v>(
        &mut self,
        inner: Id,
        all: &'v Map<String, Value>,
        look: Look<'_>,
        evaluated: Option<&mut Evaluated<'v>>,
    ) -> Outcome {
        let Some(evaluated) = evaluated else { return Ok(true) };
        let (mut fits, mut unexpected) = (true, vec![]);
        let is_nothing = self.nodes[inner].is_nothing();
        for (name, value) in all {
            self.steps.take(1 + name.len() / BYTES_PER_STEP)?;
            if evaluated.names.contains(name.as_str()) {
                continue;
            }
            if is_nothing {
                unexpected.push(name.as_str());
                fits = false;
            } else {
                self.steps.take(NOTE_STEPS)?;
                let at = Place { above: look.at, step: Step::Member(name) };
                fits &= self.check(inner, value, Look { at: Some(&at), ..look }, None)?;
                evaluated.names.insert(name);
            }
            if !fits && !look.tell {
                return Ok(false);
            }
        }
        self.says(unexpected.is_empty(), look, || words::unexpected("Unevaluated properties", &unexpected));
        Ok(fits)
    }
}
