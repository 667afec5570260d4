package track_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// mutation is a change of one rule of the tracker, which its tests have to notice.
type mutation struct{ rule, file, old, new string }

var mutations = []mutation{
	{"a contrary fix within the margin begins the number again", "pending.go", "\tcase shallow:\n\t\tp.fixes = 0\n", "\tcase shallow:\n"},
	{"fixes are counted", "pending.go", "p.fixes = min(p.fixes+1, asked)", "p.fixes = asked"},
	{"a sure fix stands for all", "pending.go", "\tcase sure:\n\t\tp.fixes = asked\n", "\tcase sure:\n"},
	{"the margin to enter is limited", "pending.go", "smallShare = 0.25", "smallShare = 0.5"},
	{"the margin to leave is not", "pending.go", "if enter && t.Metres > 0 {", "if t.Metres > 0 {"},
	{"nor that of the accuracy alone", "pending.go", "if enter && t.Metres > 0 {", "if enter {"},
	{"a measured distance is kept with the way since", "pending.go", "p.reach += farthest(c.from, o.point)", ""},
	{"the way over the boundary bounds its distance", "pending.go", "p.reach = farthest(c.from, o.point)", "p.reach = 0"},
	{"the time of the fixes confirms", "pending.go", "o.time-p.first >= after", "false"},
	{"the clock confirms, with a fix", "pending.go", "|| p.due <= s.now", ""},
	{"the clock runs from the first arrival", "pending.go", "p.due = s.now + after", "p.due = o.time + after"},
	{"a change has the time of the first crossing", "pending.go", "return p.at, true", "return c.at, true"},
	{"the accuracy is part of the margin", "policy.go", "counts = max(p.Metres, p.AccuracyFactor*error)", "counts = p.Metres"},
	{"the accuracy makes a fix less sure", "policy.go", "max(p.Sure, sureAccuracies*error)", "p.Sure"},
	{"a bad fix says nothing", "policy.go", "return p.MaxAccuracy > 0 &&", "return false &&"},
	{"enter and exit last differently", "policy.go", "	if enter {\n", "	if !enter {\n"},
	{"a bad fix keeps pending changes", "settle.go", "if o.pending[i].set == set.ID {", "if false {"},
	{"a new policy drops pending changes", "settle.go", "samePolicy(old, set) && ", ""},
	{"a changed fence drops pending changes", "settle.go", " && !isChanged(old, set, p.ref)", ""},
	{"fences that did not change are not judged", "settle.go", "|| isChanged(o.era.view.find(set.ID), set, ref)", "|| true"},
	{"a fence put again is the same", "settle.go", "|| !sameArea(a.Geometry, b.Geometry)", "|| true"},
	{"silent objects do not meet new fences", "settle.go", " && !(t.ttl > 0 && o.arrived+t.ttl <= s.era.at)", ""},
	{"the way back from a silence was not seen", "settle.go", "c.unseen || t.ttl > 0 && c.heard+t.ttl <= s.now", "c.unseen"},
	{"the first observation needs no confirmation", "settle.go", "t.atOnce || c.reason == FirstSeen", "t.atOnce"},
	{"max_gap is that of the set", "settle.go", "o.time, t.gap)", "o.time, 600_000)"},
	{"a set that is not tracked has no members", "settle.go", "!next.tracked {", "next.tracked && false {"},
	{"a set without max_speed has no outliers", "plan.go", "		if sets[i].MaxSpeed == 0 {\n			return 0\n		}\n", ""},
	{"the longest wait holds", "plan.go", "p.hold = max(p.hold, Millis", "p.hold = min(p.hold+1, Millis"},
	{"history goes before drop", "plan.go", "p.late = max(p.late, t.Late)", "p.late = t.Late"},
	{"options override the TTL", "plan.go", "		t.TTL = o.TTL\n", ""},
	{"options override the first observation", "plan.go", "o.Initial != InitialNone || o.NoInitial", "o.NoInitial"},
	{"options override it with none", "plan.go", "o.Initial != InitialNone || o.NoInitial", "o.Initial != InitialNone"},
	{"options override max_gap", "plan.go", "		gap = o.MaxGap\n", ""},
	{"other TTLs begin again", "plan.go", "return a.set == b.set && a.ttl == b.ttl", "return true"},
	{"three outliers are believed", "apply.go", "believed = 3", "believed = 2"},
	{"a time of less than a second is one", "apply.go", "minStep = 1000", "minStep = 1"},
	{"outliers have to be in a row", "apply.go", "		o.outliers = outliers{}\n", ""},
	{"outliers have to agree", "apply.go", "if row.count > 0 && p.Time > row.time && isReachable(row.point, at, p.Time-row.time, limit) {", "if row.count > 0 {"},
	{"the way to a believed outlier was not seen", "apply.go", "return s.accept(o, p, cause{reason: Move, unseen: trusted}, s.catchUp(o, events))", "_ = trusted\n\treturn s.accept(o, p, cause{reason: Move}, s.catchUp(o, events))"},
	{"of two fixes at one time the first counts", "apply.go", "if twice || p.Time <= o.time {", "if twice && false || p.Time <= o.time {"},
	{"a late fix is late", "apply.go", "	case p.Time <= o.time:\n		return s.late(), events\n", ""},
	{"history is another outcome", "apply.go", "if s.plan.late == LateHistory {", "if false {"},
	{"a fix waits for as long", "apply.go", "s.now + s.plan.hold}", "s.now + s.plan.hold/2}"},
	{"a fix takes older ones with it", "apply.go", "for n > 0 && o.held[n-1].until > due {", "for n > 1 && o.held[n-1].until > due {"},
	{"what is due comes before a fix", "apply.go", "return s.hold(o, p, s.catchUp(o, events))", "return s.hold(o, p, events)"},
	{"a silence ends before the fix that breaks it", "apply.go", "return s.accept(o, p, cause{reason: Move}, s.catchUp(o, events))", "return s.accept(o, p, cause{reason: Move}, events)"},
	{"timers go in the order of time", "timers.go", "return t[i].due < t[j].due", "return t[i].due > t[j].due"},
	{"time alone does not confirm", "pending.go", "return p.enough && p.due != 0", "return p.due != 0"},
	{"a timer waits for its time", "timers.go", "confirmed := p.timed() && p.due <= due", "confirmed := p.timed()"},
	{"new fences come before later deadlines", "timers.go", "s.era.at < o.due", "false"},
	{"deadlines come before later silence", "timers.go", "if events = s.fire(o, o.arrived+ttl, events); o.arrived+ttl <= s.now {", "if o.arrived+ttl <= s.now {"},
	{"a TTL ends the visits to its sets alone", "silence.go", "all || t > 0 && t <= ttl {", "all || t >= 0 {"},
	{"a TTL ends pending changes of its sets", "silence.go", "!all && (t == 0 || t > ttl) {", "!all && t >= 0 {"},
	{"a TTL has its time", "silence.go", "	at := o.arrived + ttl\n	for", "	at := s.now\n	for"},
	{"an object heard again is due again", "silence.go", "		if first == nil {\n			l.next[i] = o\n		}\n", "		_ = first\n		_ = i\n"},
	{"an object is silent when all sets are", "silence.go", "all := s.plan.wholly && ", "all := "},
	{"an exit is not before its enter", "emit.go", "at: max(at, m.since), since: m.since, visit: m.visit(), member: -1,", "at: at, since: m.since, visit: m.visit(), member: -1,"},
	{"exits come first", "emit.go", "Exit: 0, Cross: 1, Enter: 2", "Exit: 2, Cross: 1, Enter: 0"},
	{"events of a kind are in the order of time", "emit.go", "cmp.Compare(ranks[a.kind], ranks[b.kind]), cmp.Compare(a.at, b.at),", "cmp.Compare(ranks[a.kind], ranks[b.kind]),"},
	{"exits are told if a rule asks for them", "emit.go", "if !s.tells(o, x, rule.Exit, f) {", "if false {"},
	{"a rule added is the reason", "emit.go", "		return RuleAdded\n", "		return FenceAdded\n"},
	{"a rule removed is the reason", "emit.go", "		return RuleRemoved\n", "		return FenceChanged\n"},
	{"a visit is shown by enter or exit", "shown.go", "if r.Detect&visible != 0 && r", "if r"},
	{"a rule selects fences", "shown.go", "if r.Detect.Has(kind) && r.Fences.Select(f.Key, f.Properties) && s.holds", "if r.Detect.Has(kind) && s.holds"},
	{"a condition is asked", "shown.go", "	if r.When == nil {\n", "	if r.When != nil {\n		return true\n	}\n	if r.When == nil {\n"},
	{"a rule that was there opens by its schedule", "shown.go", "	return Schedule\n}\n\n// closing", "	return RuleAdded\n}\n\n// closing"},
	{"a rule that ends expires", "shown.go", "		return Expired\n", "		return Schedule\n"},
	{"closed rules tell nothing", "era.go", "case !r.Active.Open(at):", "case false && !r.Active.Open(at):"},
	{"schedules open and close by the clock", "era.go", "if t := MillisOf(next); e.flip == 0 || t < e.flip {", "if t := MillisOf(next); false {"},
	{"rules of single objects concern these", "amend.go", "if o.era == e {", "if o.era == e && o.handle == noName {"},
	{"they are compiled again", "era.go", "ok = ok && !b.class.Has(changes[i].Selection())", "ok = ok && changes[i].Selection() != nil"},
	{"a state has no postponed changes", "state.go", "if s.behind+len(s.amended) > 0 {", "if s.behind > 0 {"},
	{"a schedule concerns all objects", "era.go", "before.flip != 0 && before.flip <= e.at || ", ""},
	{"new fences concern all objects", "era.go", " || !e.view.sameSets(before.view):", ":"},
	{"a condition ends with its visit", "marks.go", "		case m.kind == ConditionBegin:\n			s.endCondition(o, &m, member, c)\n", ""},
	{"a visit begins without marks", "marks.go", "		case r != nil && member >= 0:\n			return false\n", "		case r != nil && m.kind == Dwell:\n			return false\n		case r != nil && member >= 0:\n			return false\n"},
	{"an object that was in a fence is outside anew", "marks.go", "return r == nil || member >= 0 || s.isBack(&m, r)", "return r == nil"},
	{"inside has its interval", "detect.go", "if !isNew && o.time-m.at < Millis(every.Milliseconds()) {", "if false && !isNew {"},
	{"outside has its interval", "detect.go", "if m.at != never && o.time-m.at < every || !s.holds", "if every < 0 || !s.holds"},
	{"outside tells since when", "detect.go", "m.since, m.at = s.leftAt(set.ID, ref, r, c.at), never", "m.since, m.at = c.at, never"},
	{"dwelling is told once", "detect.go", "mk.at = never", "mk.at = at + 1000"},
	{"dwelling is told again", "detect.go", "mk.at = at + every", "mk.at = at + 2*every"},
	{"the last of several thresholds", "detect.go", "at += (now - at) / every * every", ""},
	{"the device's clock counts", "detect.go", "return o.arrived - o.time }", "return 0 }"},
	{"a timer asks once", "detect.go", "mk.at, mk.tried = at, !holds", "mk.at, mk.tried = at, false && holds"},
	{"a condition begins once", "detect.go", "	case holds && mk == nil:\n", "	case holds:\n"},
	{"cross needs a path", "crosses.go", "c.unseen || silent ||", "silent ||"},
	{"cross needs a short gap", "crosses.go", "o.time-c.fromTime > t.gap ||", ""},
	{"cross is beside the fence by the margin", "crosses.go", "margin > 0 && -f.Distance(p) < margin", "margin < 0"},
	{"cross tells when the object left", "crosses.go", "left: between(c.fromTime, o.time, last)", "left: at + 0*between(c.fromTime, o.time, last)"},
	{"a line has two sides", "crosses.go", "(r.Direction == rule.AnyDirection || r.Direction == d)", "d != rule.AnyDirection"},
	{"the state has the fixes", "state.go", "e.uint(uint64(p.fixes)<<1 | bit(p.enough))", "e.uint(bit(p.enough))"},
	{"the state has the deadline", "state.go", "e.int(int64(p.due))", "e.int(0)"},
	{"the state has the first fix", "state.go", "e.int(int64(p.first))", "e.int(0)"},
	{"the state has outliers", "state.go", "e.uint(uint64(x.outliers.count))", "e.uint(0)"},
	{"the state has what is shown", "state.go", "e.uint(m.told)", "e.uint(m.told | 1)"},
	{"the state has the beginning of the era", "state.go", "	e.int(int64(s.era.at))\n", "	e.int(0)\n"},
	{"the state has the marks", "state.go", "	e.uint(uint64(len(x.marks)))\n	for i := range x.marks {", "	e.uint(0)\n	for i := range x.marks[:0] {"},
	{"the state knows how far silence was found", "restore.go", "			s.heard.next[k] = nil\n", ""},
}

// Each mutation names a text that its file has once, so that the list follows the code.
func TestMutationsApply(t *testing.T) {
	for _, m := range mutations {
		text, err := os.ReadFile(m.file)
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(text), m.old); n != 1 {
			t.Errorf("%s: %s has the text %d times: %q", m.rule, m.file, n, m.old)
		}
	}
}

// TestMutations sees the tests fail for each mutation. It takes minutes: make mutate-track.
func TestMutations(t *testing.T) {
	if os.Getenv("PADDOCK_MUTATE") == "" {
		t.Skip("PADDOCK_MUTATE is not set")
	}
	for _, m := range mutations {
		t.Run(m.rule, func(t *testing.T) {
			path, err := filepath.Abs(m.file)
			if err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			mutant := filepath.Join(t.TempDir(), m.file)
			write(t, mutant, []byte(strings.Replace(string(text), m.old, m.new, 1)))
			overlay := filepath.Join(filepath.Dir(mutant), "overlay.json")
			list, _ := json.Marshal(map[string]map[string]string{"Replace": {path: mutant}})
			write(t, overlay, list)
			cmd := exec.Command("go", "test", "-overlay", overlay, "-vet=off", "-failfast", "-timeout", "120s", "-run", "Test[^M]", ".")
			cmd.Env = append(os.Environ(), "PADDOCK_MUTATE=")
			out, err := cmd.CombinedOutput()
			switch {
			case err == nil:
				t.Errorf("no test noticed it: %q for %q", m.new, m.old)
			case strings.Contains(string(out), "[build failed]"):
				t.Errorf("it does not compile: %s", out)
			}
		})
	}
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}
