// Package rule describes which events of moving objects to tell: the rules, their conditions and
// schedules, and the table that finds the rules of an object.
//
// It has no state of objects, no clock and no network. Package track asks it; a program that only
// checks rules can embed it alone.
//
// # Model
//
// A [Rule] selects fences of a set, and objects by a pattern over their ids and by their fleet. It
// names the events to tell: an object enters or leaves a fence, is inside or outside, crosses it,
// dwells in it, or fulfils a condition. A set is tracked for an object if a rule names both. Rules
// select; they have no influence on when an object counts as inside, which is the policy of the
// set. So any number of rules agree about each visit.
//
//	{"id":"school-speed","set":"schools","objects":"bus-*","detect":["condition"],
//	 "when":"speed_kmh > fence.maxspeed",
//	 "active":{"zone":"America/New_York","week":{"mon-fri":["07:00-09:00","14:00-16:00"]}}}
//
// The fields:
//
//   - id: 1 to 128 letters, digits and . - _; set: the name of the set.
//   - fences: "*", a list of ids, or {"where":{PROPERTY:VALUE}}: fences whose properties are all
//     equal to these values.
//   - objects: a [Pattern] such as "bus-*"; fleet: a name. Left out they are any.
//   - detect: a list of enter, exit, inside, outside, cross, dwell, condition. Left out it is enter
//     and exit.
//   - dwell: {"after":"5m","every":"1m"}; inside and outside: {"every":"1m"}, the least time
//     between two events.
//   - when: a [Condition]. With the event condition it tells when the condition begins to hold for
//     an object inside a fence and when it ends; the other events are told only while it holds.
//   - direction: left or right, for the event cross of a line.
//   - active: a [Schedule] of the hours of the rule.
//   - count: {"at_least":N}: tells when the selected objects in a fence become N, and when they are
//     fewer again. near: {"objects":PATTERN,"fleet":NAME,"metres":M,"exit_metres":X}: tells when a
//     selected object and another one come within M metres, and when they part beyond X. A rule has
//     one of detect, count and near; near has no set.
//   - deliver: JSON that is kept for the delivery of the events.
//   - enabled: false keeps a rule without effect.
//
// [Parse] reads JSON and [ParseFile] reads YAML, by one decoder: an unknown or misspelt field is an
// error, and all errors come at once with their places. [Rule.AppendJSON] gives the canonical form.
package rule
