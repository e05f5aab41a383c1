// Package uzda is the vocabulary of an agent harness: messages, models, tools,
// gates, events and the journal that records them. It does nothing by itself:
// no I/O, no goroutines, the standard library only.
//
// # The one idea
//
// The journal is the only truth, and a message moves one way:
//
//	outside ─Post─▶ journal ─Fold─▶ State ─Next─▶ Moves ─do─▶ model, tools ─Append─▶ journal ─Watch─▶ outside
//
// Starting, resuming after a crash, going on after an approval and waking by a
// timer are the same call. What is not in the journal did not happen.
//
// # The tour
//
//   - A [Message] is a [Role] and its [Block]s; a block is [Text], [Thinking],
//     [Media], [ToolUse], [ToolResult] or [Opaque], and carries [Label]s.
//   - A [Model] answers a [Request] with a stream of [Chunk]s. [Collect] folds
//     the stream into a [Reply]; there is no second, non-streaming path.
//   - A [Tool] says what it is ([ToolSpec], [Effects]) and runs a [Use]. A
//     failure that the model can react to is a [Result] with IsError; a Go error
//     stops the turn.
//   - A [Gate] decides whether a use may run: allow, ask or deny.
//   - An [Event] is one fact of a session; its [Body] is one of a closed set of
//     kinds. A [Journal] appends and reads events; a [Leaser] lets one runner at
//     a time decide.
//   - A [Host] is the only door to sessions: Open, Post, Watch.
//   - An [Outcome] says how a turn ended and why; [Limits] say when it must.
//
// The loop is in package agent, sessions are in package session, typed tools
// from Go functions in package tool, stores in packages journal and sqlite.
package uzda
