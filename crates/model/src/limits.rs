//! Every bound of the system, named once (SEC-07). Tests check each at n and n + 1.

/// Largest HTTP request body.
pub const BODY_BYTES: usize = 8 * MIB;
/// Largest card: content and tool calls together, as canonical bytes, a text without its quotes. The metadata has a bound
/// of its own.
pub const CARD_BYTES: usize = MIB;
/// Largest card metadata, as canonical bytes.
pub const METADATA_BYTES: usize = 16 * KIB;
/// Deepest nesting of arrays and objects in JSON we keep.
pub const JSON_DEPTH: usize = 64;
/// Most cards a box may show.
pub const BOX_CARDS: usize = 100_000;
/// Most distinct ids in one batch read.
pub const BATCH_IDS: usize = 100;
/// Most card ids in one write to a box.
pub const WRITE_CARD_IDS: usize = BOX_CARDS;
/// How deep segments may nest before a box is written out card by card.
pub const SEGMENT_DEPTH: u16 = 32;
/// Longest slug, tool call id and other human-given name.
pub const NAME_CHARS: usize = 128;
/// Longest project title.
pub const TITLE_CHARS: usize = 512;
/// Shortest time to live of a card.
pub const TTL_SECONDS_MIN: u32 = 1;
/// Longest time to live of a card: ten years.
pub const TTL_SECONDS_MAX: u32 = 10 * 365 * 24 * 3600;
/// Longest life of a token: ten years.
pub const TOKEN_SECONDS_MAX: u64 = 10 * 365 * 24 * 3600;
/// Default and largest number of cards hydrated from one box.
pub const HYDRATE_DEFAULT: usize = 200;
/// See [`HYDRATE_DEFAULT`].
pub const HYDRATE_MAX: usize = 500;
/// Default and largest page of a list.
pub const PAGE_DEFAULT: usize = 50;
/// See [`PAGE_DEFAULT`].
pub const PAGE_MAX: usize = 500;
/// Longest `Idempotency-Key`.
pub const IDEMPOTENCY_KEY_CHARS: usize = 255;
/// How long an answer is remembered for its `Idempotency-Key`.
pub const IDEMPOTENCY_SECONDS: u64 = 24 * 3600;
/// Default requests per second of one token; a burst of as many is allowed.
pub const TOKEN_REQUESTS_PER_SECOND: u32 = 5_000;
/// Most connections to one server; fewer if the machine allows fewer open files.
pub const CONNECTIONS: usize = 10_000;
/// Open files that a server keeps for itself: the store, the workspace, calls to models and tools.
pub const OWN_FILES: usize = 256;
/// How long a new connection may take to send its first request.
pub const FIRST_REQUEST_SECONDS: u64 = 15;
/// How long a connection stays open without a request, at least; at most twice as long.
pub const IDLE_CONNECTION_SECONDS: u64 = 75;
/// How long a client may read nothing of an answer that is being sent.
pub const STALLED_ANSWER_SECONDS: u64 = 30;
/// How long requests under way may take after a server was told to stop (API-13).
pub const STOP_REQUESTS_SECONDS: u64 = 8;
/// How long a server may take to end after it was told to stop.
pub const STOP_SECONDS: u64 = 14;
/// How long anybody waits for one call of the store: longer than the store itself lets a statement take.
pub const STORE_WAIT_SECONDS: u64 = 40;
/// Look-ups of tokens that nobody holds, for one address at once; after that so many per second as
/// [`FAILED_LOOKUPS_PER_SECOND`].
pub const FAILED_LOOKUPS: u32 = 100;
/// See [`FAILED_LOOKUPS`].
pub const FAILED_LOOKUPS_PER_SECOND: u32 = 10;
/// Tokens that a server remembers to have accepted: they are looked up however many unknown ones their address sends.
pub const ACCEPTED_TOKENS: usize = 10_000;
/// Addresses whose unknown tokens are counted one by one; those beyond share one count.
pub const COUNTED_ADDRESSES: usize = 10_000;
/// Requests for `/ready` and `/openapi.json` without a token, for one address at once; after that so many per second as
/// [`OPEN_REQUESTS_PER_SECOND`].
pub const OPEN_REQUESTS: u32 = 200;
/// See [`OPEN_REQUESTS`].
pub const OPEN_REQUESTS_PER_SECOND: u32 = 50;
/// How long callers without a token are told what one of them was told of the server's readiness.
pub const READY_SHARED_MS: i64 = 200;
/// Most events handed to a reader at once.
pub const EVENT_PAGE: usize = 500;
/// Most audit rows sealed in one commit.
pub const SEAL_ROWS: usize = 256;
/// How long a store may take to say whether a write would go through.
pub const READY_SECONDS: u64 = 3;
/// How often the mark of an embedded store is moved at most: what was acknowledged since can be lost without a word.
pub const MARK_SECONDS: u64 = 1;
/// How long commits of an embedded store are in its log alone, if the disk keeps up.
pub const LOG_SECONDS: u64 = 10;
/// How often in a row the log cannot be written back before the store is not ready.
pub const LOG_FAILURES: u32 = 3;
/// Most damaged cards that are named; the rest are counted.
pub const DAMAGED_NAMED: usize = 20;
/// How often a command is decided again after another writer got in between.
pub const DECIDE_ATTEMPTS: usize = 16;
/// Pure work on no more bytes is done where it is asked for: it takes about as long as half a millisecond, and handing it to
/// another thread a tenth of that.
pub const AT_ONCE_BYTES: usize = 16 * KIB;
/// Most long computations of one project that wait for a processor.
pub const WAITING_JOBS: usize = 256;

/// Most turns in the inbox of one agent: the live one and those that wait behind it (SEC-07).
pub const INBOX_TURNS: u32 = 1_000;
/// How deep turns may delegate unless the project says otherwise (DP-04).
pub const RECURSION_DEPTH: u32 = 20;
/// The deepest a project may allow.
pub const RECURSION_DEPTH_MAX: u32 = 100;
/// Most malformed inbox rows put away while looking for the next turn (DP-14).
pub const POISON_ROWS: usize = 5;
/// Most turns whose rows a process keeps in memory from the commit that leased them to the one that moves them.
pub const RECALLED_TURNS: usize = 4_000;
/// Most agents, and most boxes, whose rows a process keeps in memory for the next turn.
pub const RECALLED_AGENTS: usize = 4_000;
/// How long a process reads before it dispatches in a project, after what it knew there was outdated: others write there as well.
pub const RECALL_PAUSE_MS: i64 = 1_000;
/// How often a turn is given to a worker that does not start it, or dies at it, unless the profile says otherwise (WD-04).
pub const TURN_ATTEMPTS: u32 = 3;
/// The most a profile may allow.
pub const TURN_ATTEMPTS_MAX: u32 = 100;
/// Most turns of silent workers that a process keeps in mind for claims with `recover: "target"` (WD-05).
pub const SILENT_TURNS: usize = 10_000;
/// Most worker targets of which a process keeps in mind when a worker last asked for them.
pub const ASKED_TARGETS: usize = 10_000;
/// Work that has waited for so many seconds, and for which no worker has asked for as long, is told of in the event log.
pub const UNASKED_SECONDS: i64 = 30;
/// Most turns handed out by one claim.
pub const CLAIM_TURNS: usize = 100;
/// Longest wait of one claim.
pub const CLAIM_WAIT_MS: u64 = 30_000;
/// Most cards written by one request of a turn.
pub const TURN_CARDS: usize = 100;
/// Most words of people that a turn hands to its session when it ends (PR-10).
pub const TURN_REPLIES: usize = 100;
/// Most tool calls of one turn that have no answer yet.
pub const OPEN_CALLS: usize = 256;
/// Longest time a turn may wait for its tools: seven days.
pub const RESUME_SECONDS_MAX: u32 = 7 * 24 * 3600;
/// Largest `runtime_config` of a dispatch, and largest metadata of a step, as canonical bytes.
pub const RUNTIME_CONFIG_BYTES: usize = METADATA_BYTES;
/// Longest error text of a turn.
pub const ERROR_CHARS: usize = 4_096;
/// Most packing rules of one handover.
pub const PACK_RULES: usize = 256;
/// Most branches of one fork_join unless the project says otherwise (BM-02).
pub const FORK_TASKS: usize = 1_000;
/// The most a project may allow.
pub const FORK_TASKS_MAX: usize = 10_000;
/// Most cards that all tasks of one fork_join inherit together.
pub const FORK_CARDS: usize = 10_000_000;
/// How long a batch may take unless the call or the project says otherwise (BM-03).
pub const FORK_DEADLINE_SECONDS: u32 = 900;
/// The longest a batch may take: seven days.
pub const FORK_DEADLINE_SECONDS_MAX: u32 = 7 * 24 * 3600;
/// How often the dispatch of a branch is tried (BM-10).
pub const BRANCH_ATTEMPTS: u32 = 5;
/// Entries of an output box that are looked at for what a turn leaves behind (WD-06).
pub const REMAINS_ENTRIES: u32 = 200;
/// Branches that are dispatched or looked after at a time, beyond those of the fork itself.
pub const BRANCH_PAGE: usize = 500;
/// Tokens that the result of a batch may take in the caller's context when its window is not known (OB-03).
pub const RESULT_TOKENS: u32 = 65_536;
/// The most it may take: what 2,000 branches say fits into one card with it.
pub const RESULT_TOKENS_MAX: u32 = 100_000;
/// Most turns below one root unless the project says otherwise.
pub const TREE_TURNS: u32 = 100_000;
/// The most a project may allow.
pub const TREE_TURNS_MAX: u32 = 10_000_000;
/// Most messages, results or timeline entries of one patch of a session.
pub const PATCH_ITEMS: usize = 1_000;
/// Most cards of a session that one commit deletes; more take several (ST-09).
pub const DELETED_CARDS: usize = 1_000;
/// Most messages, results and timeline entries, each, that one answer shows of a session: the newest.
pub const SESSION_ITEMS: usize = 5_000;
/// Most boxes handed to an agent that are looked into for a card: to tell why it is not in a call (RP-04), or whether the agent
/// may name it.
pub const SEARCHED_GRANTS: usize = 2_000;
/// Most versions of a session that are gone back through to find how it was when a call was made.
pub const EXPLAINED_VERSIONS: usize = 10_000;
/// Most cards that a fork of a turn puts in the place of others.
pub const FORK_SWAPS: usize = 100;
/// Most summaries that are opened, one within the other.
pub const OPENED_SUMMARIES: usize = 1_000;
/// Most items of a todo list.
pub const TODO_ITEMS: usize = 1_000;
/// Messages at the end of a session's memory that a compaction leaves alone unless told otherwise (CP-02).
pub const COMPACT_KEEP: usize = 5;
/// Most sections of one document of knowledge.
pub const DOCUMENT_SECTIONS: usize = 10_000;
/// Bytes of one chunk of an answer while it is written. A message of the bus takes a megabyte, with room for the rest.
pub const CHUNK_BYTES: usize = 512 * 1024;
/// Turns that a worker may say it is at when it claims.
pub const HOLDING_TURNS: usize = 10_000;
/// Longest answer of a tool elsewhere: it becomes a card.
pub const TOOL_ANSWER_BYTES: usize = 512 * KIB;
/// The longest wait that a provider of models may ask for with `Retry-After`. One that asks for more is not asked again.
pub const RETRY_AFTER_SECONDS: u64 = 120;
/// Longest name of a tool that a model is offered; providers take no longer one.
pub const OFFERED_NAME_CHARS: usize = 64;
/// Most profiles that a model is told of beside the tools that give work to their agents.
pub const OFFERED_PROFILES: usize = 32;
/// Most MCP servers of one worker.
pub const MCP_SERVERS: usize = 64;
/// How much is kept of what the program of an MCP server last said on standard error.
pub const MCP_LAST_WORDS_BYTES: usize = 600;
/// How many lines of it are told.
pub const MCP_LAST_WORDS_LINES: usize = 8;
/// Most tools of one MCP server.
pub const MCP_TOOLS: usize = 128;
/// Longest description and schema of a tool of an MCP server, together.
pub const MCP_TOOL_BYTES: usize = 16 * KIB;
/// Longest message of an MCP server.
pub const MCP_MESSAGE_BYTES: usize = 4 * MIB;
/// Steps or turns that one sum of costs may go through.
pub const COST_STEPS: usize = 100_000;
/// Calls that one sum by layer or card may go through.
pub const COST_CALLS: usize = 1_000;
/// Turns of one run that are shown together.
pub const OUTLINE_TURNS: usize = 20_000;
/// Runs of one page. Each is summed over the turns below it.
pub const RUN_LIST_MAX: usize = 100;
/// Turns that the sums of one page of runs go over.
pub const RUN_LIST_TURNS: usize = 5_000;
/// How much of what a run was asked is shown in a list.
pub const QUESTION_PREVIEW_CHARS: usize = 200;
/// Cards that one search looks at before it says where to go on.
pub const SEARCHED_CARDS: usize = 10_000;
/// Longest form that the inspector takes.
pub const FORM_BYTES: usize = 16 * KIB;
/// How long a code opens the inspector.
pub const SESSION_CODE_SECONDS: u64 = 60;
/// Codes that are kept at once.
pub const SESSION_CODES: usize = 64;
/// How long a session of the inspector lasts.
pub const SESSION_SECONDS: u64 = 12 * 3_600;
/// Longest text that cards are searched for.
pub const SEARCH_TEXT_CHARS: usize = 256;
/// Entries of boxes that are looked at for one card.
pub const HOLDER_ENTRIES: usize = 1_000_000;
/// Largest count that the settings of a context may ask for.
pub const SETTING_MAX: usize = 1_000;
/// Longest embedding, in numbers.
pub const EMBEDDING_NUMBERS: usize = 8_192;
/// Most passages looked at when meanings are compared one by one.
pub const VECTOR_SCAN: usize = 100_000;
/// Most rows the watchdog reads at once.
pub const WATCHDOG_PAGE: usize = 500;
/// Most pages of such rows that are counted for a gauge: 10,000 rows of a kind.
pub const MEASURED_PAGES: usize = 20;
/// Most tools, agents or knowledge references of one experience (EX-01).
pub const EXPERIENCE_ENTRIES: usize = 1_000;
/// Turns of a project, newest first, that are looked at for those of a session when its experience is told.
pub const EXPERIENCE_TURNS: usize = 1_000;
/// Experiences, those first that fit best, that are looked through for successes (EX-02).
pub const EXPERIENCE_CANDIDATES: usize = 1_000;
/// Longest section of a document: what is shown when a part of it is found (KN-02).
pub const SECTION_CHARS: usize = 2_000;
/// Longest part of a section: what is searched.
pub const PART_CHARS: usize = 500;
/// Most terms that a passage is found by.
pub const PASSAGE_TERMS: usize = 2_000;
/// Longest term; what is longer is cut.
pub const TERM_CHARS: usize = 64;
/// Most terms of one search.
pub const QUERY_TERMS: usize = 64;
/// Most tokens of a package that carries an index; a longer one is stored with fewer entries (HO-06).
pub const HANDOFF_TOKENS: u32 = 5_000;
/// Tokens of a design package beyond which its sender is warned (HO-06).
pub const HANDOFF_DESIGN_TOKENS: u32 = 1_000;
/// Most entries of an index as it is sent.
pub const HANDOFF_ENTRIES: usize = 10_000;
/// Longest text in an index: what is longer is content, and content stays in files (HO-05).
pub const HANDOFF_INDEX_TEXT_CHARS: usize = 2_000;
/// Most suggestions of a package; fewer than [`HANDOFF_SUGGESTIONS_MIN`] are worth a warning (HO-07).
pub const HANDOFF_SUGGESTIONS: usize = 5;
/// See [`HANDOFF_SUGGESTIONS`].
pub const HANDOFF_SUGGESTIONS_MIN: usize = 3;
/// Longest suggestion (HO-07).
pub const HANDOFF_SUGGESTION_CHARS: usize = 300;
/// Longest path below a workspace root.
pub const HANDOFF_PATH_BYTES: usize = 1_024;
/// Longest name in such a path: what common file systems take.
pub const HANDOFF_NAME_BYTES: usize = 255;
/// Most names in such a path.
pub const HANDOFF_PATH_NAMES: usize = 32;
/// Largest file of an iteration that is read (SEC-06).
pub const HANDOFF_FILE_BYTES: u64 = 16 * MIB as u64;
/// Most bytes of files that are hashed when a package is accepted; of the files beyond, length and time are recorded.
pub const HANDOFF_HASHED_BYTES: u64 = 1024 * MIB as u64;
/// Longest time for that, with the same consequence.
pub const HANDOFF_HASH_SECONDS: i64 = 20;
/// Samples whose files one card tells of: as many as fit with the longest names.
pub const HANDOFF_FINGERPRINTS: usize = 1_000;
/// Most problems of one kind that are named; the rest are counted.
pub const HANDOFF_PROBLEMS: usize = 100;
/// Most types of packages besides the built-in ones.
pub const HANDOFF_TYPES: usize = 100;
/// Most fields of such a type that hold paths.
pub const HANDOFF_PATH_FIELDS: usize = 100;
/// Largest JSON Schema, as canonical bytes. The schemas of one list of result fields count together, here and below.
pub const SCHEMA_BYTES: usize = 64 * KIB;
/// Deepest nesting of arrays and objects in a JSON Schema.
pub const SCHEMA_DEPTH: usize = JSON_DEPTH;
/// Most schemas in a JSON Schema, itself included.
pub const SUBSCHEMAS: usize = 4_096;
/// Bytes of all patterns of a JSON Schema.
pub const SCHEMA_PATTERN_BYTES: usize = 4 * KIB;
/// Memory of all its patterns once they are compiled.
pub const SCHEMA_AUTOMATA_BYTES: usize = MIB;
/// Steps of one check of a value: about a fifth of a second in the worst case.
pub const SCHEMA_STEPS: u64 = 4_000_000;
/// Most schemas that are applied within one another while a value is checked.
pub const SCHEMA_NESTING: usize = 512;
/// Most reasons that are told why a value does not fit.
pub const SCHEMA_MISFITS: usize = HANDOFF_PROBLEMS;
/// Tokens that one load may take unless the reader says otherwise (LD-02).
pub const LOAD_TOKENS: u32 = 40_000;
/// Bytes of files that one load reads at most, whatever its budget.
pub const LOAD_BYTES: u64 = 64 * MIB as u64;
/// Turns at either end of a conversation that are kept when it is shortened (LD-05).
pub const LOAD_END_TURNS: u64 = 2;
/// Text beyond this is shortened to its two ends of [`LOAD_TEXT_END_CHARS`] each (LD-05).
pub const LOAD_TEXT_CHARS: usize = 5_000;
/// See [`LOAD_TEXT_CHARS`].
pub const LOAD_TEXT_END_CHARS: usize = 1_000;
/// Most files written to the workspace by one request.
pub const WORKSPACE_FILES: usize = 100;
/// Most projects among which the owner of a directory below the workspace root is looked for. Where there are more, files
/// that lie in no project's directory are reached by nobody.
pub const WORKSPACE_OWNERS: usize = 10_000;
/// Most samples that one load may name.
pub const LOAD_SAMPLES: usize = 1_000;
/// Largest budget of one load, in tokens.
pub const LOAD_BUDGET_MAX: u32 = 1_000_000;

const KIB: usize = 1024;
const MIB: usize = 1024 * KIB;

const _: () = assert!(METADATA_BYTES < CARD_BYTES && CARD_BYTES < BODY_BYTES);
// An answer is a card with something around it, and a list of tools fits into a message.
const _: () = assert!(TOOL_ANSWER_BYTES < CARD_BYTES && MCP_TOOLS * MCP_TOOL_BYTES < MCP_MESSAGE_BYTES);
const _: () = assert!(HYDRATE_DEFAULT <= HYDRATE_MAX && PAGE_DEFAULT <= PAGE_MAX);
// What one patch adds, one answer shows.
const _: () = assert!(PATCH_ITEMS <= SESSION_ITEMS);
// A part of a section is found by all of its terms, also when each of its characters makes two.
const _: () = assert!(PART_CHARS <= SECTION_CHARS && 2 * PART_CHARS <= PASSAGE_TERMS);
// A suggestion is no content, and a shortened text is not shortened again, even with the note in its middle.
const _: () = assert!(HANDOFF_SUGGESTION_CHARS <= HANDOFF_INDEX_TEXT_CHARS);
const _: () = assert!(2 * LOAD_TEXT_END_CHARS + 100 < LOAD_TEXT_CHARS);
const _: () = assert!(HANDOFF_FILE_BYTES <= LOAD_BYTES && HANDOFF_SUGGESTIONS_MIN <= HANDOFF_SUGGESTIONS);
