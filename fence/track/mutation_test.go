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
	{"the margin to leave is not", "pending.go", "if w == entering && t.Metres > 0 {", "if t.Metres > 0 {"},
	{"nor that of the accuracy alone", "pending.go", "if w == entering && t.Metres > 0 {", "if w == entering {"},
	{"a measured distance is kept with the way since", "pending.go", "p.reach += farthest(c.from, o.point)", ""},
	{"the way over the boundary bounds its distance", "pending.go", "p.reach = farthest(c.from, o.point)", "p.reach = 0"},
	{"the time of the fixes confirms", "pending.go", "o.time-p.first >= after", "false"},
	{"the clock confirms, with a fix", "pending.go", "|| p.due <= c.now", ""},
	{"the clock runs from the first arrival", "pending.go", "p.due = c.now + after", "p.due = o.time + after"},
	{"a change has the time of the first crossing", "pending.go", "return p.at, true", "return c.at, true"},
	{"the accuracy is part of the margin", "policy.go", "counts = max(p.Metres, p.AccuracyFactor*error)", "counts = p.Metres"},
	{"the accuracy makes a fix less sure", "policy.go", "max(p.Sure, sureAccuracies*error)", "p.Sure"},
	{"a bad fix says nothing", "policy.go", "return p.MaxAccuracy > 0 &&", "return false &&"},
	{"enter and exit last differently", "policy.go", "	if w == entering {\n", "	if w != entering {\n"},
	{"a bad fix keeps pending changes", "settle.go", "if o.pending[i].set == set.ID {", "if false {"},
	{"a new policy drops pending changes", "settle.go", "samePolicy(old, set, p.ref) && ", ""},
	{"a changed fence drops pending changes", "settle.go", " && !isChanged(old, set, p.ref)", ""},
	{"fences that did not change are not judged", "settle.go", "|| isChanged(o.era.view.find(set.ID), set, ref)", "|| true"},
	{"a fence put again is the same", "settle.go", "|| !sameArea(a.Geometry, b.Geometry)", "|| true"},
	{"silent objects do not meet new fences", "settle.go", " && !(t.ttl > 0 && o.arrived+t.ttl <= s.era.at)", ""},
	{"the way back from a silence was not seen", "settle.go", "c.unseen || t.ttl > 0 && c.heard+t.ttl <= c.now", "c.unseen"},
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
	{"the way to a believed outlier was not seen", "apply.go", "return s.accept(o, p, cause{reason: Move, unseen: trusted, now: s.now}, s.catchUp(o, events))", "_ = trusted\n\treturn s.accept(o, p, cause{reason: Move, now: s.now}, s.catchUp(o, events))"},
	{"of two fixes at one time the first counts", "apply.go", "if twice || p.Time <= o.time {", "if twice && false || p.Time <= o.time {"},
	{"a late fix is late", "apply.go", "	case p.Time <= o.time:\n		return s.late(), events\n", ""},
	{"history is another outcome", "apply.go", "if s.plan.late == LateHistory {", "if false {"},
	{"a fix waits for as long", "apply.go", "s.now + s.plan.hold}", "s.now + s.plan.hold/2}"},
	{"a fix takes older ones with it", "apply.go", "for n > 0 && o.held[n-1].until > due {", "for n > 1 && o.held[n-1].until > due {"},
	{"what is due comes before a fix", "apply.go", "return s.hold(o, p, s.catchUp(o, events))", "return s.hold(o, p, events)"},
	{"a silence ends before the fix that breaks it", "apply.go", "return s.accept(o, p, cause{reason: Move, now: s.now}, s.catchUp(o, events))", "return s.accept(o, p, cause{reason: Move, now: s.now}, events)"},
	{"a fix that waited is taken at the end of its wait", "apply.go", "now: until}", "now: s.now}"},
	{"objects are in the order of their times", "silence.go", "for earlier != nil && earlier.arrived > o.arrived {", "for false {"},
	{"a fix that waited is the next to be silent", "silence.go", "if first == nil || first.arrived > o.arrived {", "if first == nil {"},
	{"a silence may follow a fix that waited", "timers.go", "		if o.arrived == heard {\n			return events\n		}\n", "		return events\n"},
	{"a silence behind a fix that waited comes before later deadlines", "timers.go", "until = min(until, o.arrived+s.plan.ttls[0])", "_ = heard"},
	{"timers go in the order of time", "timers.go", "return t[i].due < t[j].due", "return t[i].due > t[j].due"},
	{"time alone does not confirm", "pending.go", "return p.enough && p.due != 0", "return p.due != 0"},
	{"a timer waits for its time", "timers.go", "confirmed := p.timed() && p.due <= due", "confirmed := p.timed()"},
	{"new fences come before later deadlines", "timers.go", "s.era.at < o.due", "false"},
	{"deadlines come before later silence", "silence.go", "	events = s.fire(o, at, events)\n", ""},
	{"a TTL ends the visits to its sets alone", "silence.go", "all || t > 0 && t <= ttl {", "all || t >= 0 {"},
	{"a TTL ends pending changes of its sets", "silence.go", "!all && (t == 0 || t > ttl) {", "!all && t >= 0 {"},
	{"a TTL has its time", "silence.go", "	at := o.arrived + ttl\n	for", "	at := s.now\n	for"},
	{"an object heard again is due again", "silence.go", "		if first == nil || first.arrived > o.arrived {\n			l.next[i] = o\n		}\n", "		_ = first\n		_ = i\n"},
	{"an object is silent when all sets are", "silence.go", "all := s.plan.wholly && ", "all := "},
	{"an exit is not before its enter", "emit.go", "at: max(at, since), since: since, visit: m.visit(), member: -1,", "at: at, since: since, visit: m.visit(), member: -1,"},
	{"hours do not change when a visit began", "shown.go", "s.showSince(o, m, c.at)", "m.since = c.at"},
	{"what hours tell begins with them", "emit.go", "since := o.shownSince(m)", "since := m.since"},
	{"exits come first", "emit.go", "Exit: 1, Cross: 2, Enter: 3", "Exit: 3, Cross: 2, Enter: 1"},
	{"events of a kind are in the order of time", "emit.go", "cmp.Compare(a.rank(), b.rank()), cmp.Compare(a.at, b.at),", "cmp.Compare(a.rank(), b.rank()),"},
	{"exits are told if a rule asks for them", "emit.go", "if !s.tells(o, x, rule.Exit, f) {", "if false {"},
	{"a rule added is the reason", "emit.go", "		return RuleAdded\n", "		return FenceAdded\n"},
	{"a rule removed is the reason", "emit.go", "		return RuleRemoved\n", "		return FenceChanged\n"},
	{"a visit is shown by enter or exit", "shown.go", "if r.Detect&visible != 0 && r", "if r"},
	{"a rule selects fences", "shown.go", "if r.Detect.Has(kind) && r.Fences.Select(f.Key, f.Properties) && s.holds", "if r.Detect.Has(kind) && s.holds"},
	{"a condition is asked", "shown.go", "	if r.When == nil {\n", "	if r.When != nil {\n		return true\n	}\n	if r.When == nil {\n"},
	{"a rule that was there opens by its schedule", "shown.go", "	return Schedule\n}\n\n// closing", "	return RuleAdded\n}\n\n// closing"},
	{"a rule that ends expires", "shown.go", "		return Expired\n", "		return Schedule\n"},
	{"closed rules tell nothing", "era.go", "case !r.Active.Open(at):", "case false && !r.Active.Open(at):"},
	{"schedules open and close by the clock", "era.go", "NextChange(at.Time()); changes {", "NextChange(at.Time()); changes && false {"},
	{"rules of single objects concern these", "amend.go", "if o.era == e {", "if o.era == e && o.handle == noName {"},
	{"the way to a table does not matter", "era.go", "return rules.Compare(earlier)", "return rules.Changes(earlier)"},
	{"another table has other classes", "amend.go", "		s.reclass()\n", ""},
	{"fleets without objects do not matter", "remove.go", "	s.unname(o)\n", ""},
	{"they are compiled again", "era.go", "ok = ok && !b.class.Has(changes[i].Selection())", "ok = ok && changes[i].Selection() != nil"},
	{"a state has no postponed changes", "state.go", "if s.behind+len(s.amended) > 0 {", "if s.behind > 0 {"},
	{"a schedule concerns all objects", "era.go", "before.flip != 0 && before.flip <= e.at || ", ""},
	{"new fences concern all objects", "era.go", " || !e.view.sameSets(before.view):", ":"},
	{"a condition ends with its visit", "marks.go", "		case m.kind == ConditionBegin:\n			s.endCondition(o, &m, member, c)\n", ""},
	{"a visit begins without marks", "marks.go", "		case r != nil && member >= 0:\n			return false\n", "		case r != nil && m.kind == Dwell:\n			return false\n		case r != nil && member >= 0:\n			return false\n"},
	{"an object that was in a fence is outside anew", "marks.go", "return r == nil || member >= 0 || s.isBack(&m, r)", "return r == nil"},
	{"inside has its interval", "detect.go", "if !isNew && o.time-m.at < Millis(every.Milliseconds()) {", "if false && !isNew {"},
	{"outside has its interval", "detect.go", "if m.at != never && o.time-m.at < every || !s.holds", "if every < 0 || !s.holds"},
	{"outside tells since when", "detect.go", "m.since, m.at = s.leftAt(set.ID, m.ref, r, c.at), never", "m.since, m.at = c.at, never"},
	{"a mark is that of its fence", "marks.go", "at, known := w.next, w.next < len(w.o.marks) && w.o.marks[w.next].ref == ref && w.has(w.next)", "at, known := w.next, w.next < len(w.o.marks) && w.has(w.next)"},
	{"marks are looked up in any order", "marks.go", "			s.outsides[w.o.marks[i].ref] = i\n", "			_ = i\n"},
	{"dwelling is told once", "detect.go", "mk.at, mk.since = never, at", "mk.at, mk.since = at+1000, at"},
	{"dwelling is told again", "detect.go", "mk.at = at + every", "mk.at = at + 2*every"},
	{"the last of several thresholds", "detect.go", "at = lastThreshold(r, at, now)", ""},
	{"a changed rule holds for visits that go on", "emit.go", "		s.redate(o)\n", ""},
	{"what was told is not told again", "detect.go", "case at > told:", "case at >= 0:"},
	{"another rule leaves the marks", "marks.go", " && !was.Equal(r)", ""},
	{"a dwell comes before the exit", "emit.go", "if ch.kind == Dwell && ch.member < 0 {", "if false {"},
	{"a dwell is not after the exit", "detect.go", " && d.at <= end {", " {"},
	{"a dwell before the exit has its condition", "detect.go", "d.at <= until && s.holds(o, d.rule, d.fence)", "d.at <= until"},
	{"the device's clock counts", "detect.go", "return o.arrived - o.time }", "return 0 }"},
	{"a dwell between two fixes has the condition of the first", "detect.go", "holds || s.hasLapsed(r, m), c)", "holds, c)"},
	{"a timer asks once", "detect.go", "mk.at, mk.tried = at, !holds", "mk.at, mk.tried = at, false && holds"},
	{"a condition begins once", "detect.go", "	case holds && mk == nil:\n", "	case holds:\n"},
	{"cross needs a path", "crosses.go", "c.unseen || silent ||", "silent ||"},
	{"cross needs a short gap", "crosses.go", " || o.time-c.fromTime > t.gap {", " {"},
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
	{"the first observation has settings too", "settings.go", "own.atOnce = own.immediate()", ""},
	{"fixes of one fence", "settings.go", "	put(&own.Fixes, s.Fixes, s.Has(geojson.GivenFixes))\n", ""},
	{"metres of one fence", "settings.go", "	put(&own.Metres, s.Metres, s.Has(geojson.GivenMetres))\n", ""},
	{"sure of one fence", "settings.go", "	put(&own.Sure, s.Sure, s.Has(geojson.GivenSure))\n", ""},
	{"accuracy_factor of one fence", "settings.go", "	put(&own.AccuracyFactor, s.AccuracyFactor, s.Has(geojson.GivenAccuracyFactor))\n", ""},
	{"max_accuracy of one fence", "settings.go", "	put(&own.MaxAccuracy, s.MaxAccuracy, s.Has(geojson.GivenMaxAccuracy))\n", ""},
	{"enter_after of one fence", "settings.go", "	put(&own.EnterAfter, s.EnterAfter, s.Has(geojson.GivenEnterAfter))\n", ""},
	{"exit_after of one fence", "settings.go", "	put(&own.ExitAfter, s.ExitAfter, s.Has(geojson.GivenExitAfter))\n", ""},
	{"altitude of one fence", "settings.go", "	if s.Has(geojson.GivenAltitude) {", "	if false && s.Has(geojson.GivenAltitude) {"},
	{"a fence may say what an unknown altitude means", "settings.go", "!altitude.Known && t.Altitude == AltitudeInside:", "false:"},
	{"an unknown altitude says nothing", "settings.go", "		return unsaid\n", "		return aloft\n"},
	{"a fence has a height", "settings.go", "	return aloft\n", "	return fits\n"},
	{"an unknown altitude keeps the pending change", "settings.go", "|| o.heightIn(f, t) == unsaid", ""},
	{"a bad fix keeps the pending change of one fence", "settings.go", "return t.ignores(o.accuracy()) || o.", "return o."},
	{"an unknown altitude keeps the membership", "settings.go", "			stays = true\n", ""},
	{"a bad fix keeps the membership in one fence", "settings.go", "stays = stays || !c.edited && own.ignores(o.accuracy())", ""},
	{"an edit is judged whatever the accuracy", "settings.go", "!c.edited && own.ignores", "own.ignores"},
	{"an altitude is not sure", "pending.go", "w == leavingAloft || margin == 0", "margin == 0"},
	{"an altitude is dated at the fix", "settle.go", "w == leavingAloft || c.unseen", "c.unseen"},
	{"other settings drop pending changes", "settle.go", "f.Settings().SamePolicy(g.Settings())", "true"},
	{"another height is judged", "settle.go", " || !a.Settings().SameHeight(b.Settings())", ""},
	{"pending changes of fences with settings are in order", "settle.go", "cmp.Compare(a.ref, b.ref) })", "cmp.Compare(b.ref, a.ref) })"},
	{"a path passes through a height", "crosses.go", "o.heightIn(f, t) != fits {", "false {"},
	{"a fix without an altitude has none", "object.go", "		if o.measures[i] = m.Value; m.Known {\n", "		if o.measures[i] = m.Value; m.Known || i == 3 {\n"},
	{"a schedule opens before a later silence", "silence.go", "events = s.fire(o, at, s.renew(o, events))", "events = s.renew(o, events)"},
	{"a line holds nothing at any height", "settings.go", "if f != nil && !f.OnlyCrossed() {", "if f != nil {"},
	{"a crossing waits for the margin", "passages.go", "case !t.measures() && !t.ignores(o.accuracy()), ", "case !t.ignores(o.accuracy()), "},
	{"a crossing up to a bad fix waits for a better one", "passages.go", "case !t.measures() && !t.ignores(o.accuracy()), ", "case !t.measures(), "},
	{"no margin is needed to confirm without one", "passages.go", "	if !t.measures() {\n		return true\n	}\n", ""},
	{"a bad fix passes through nothing", "crosses.go", "case t.ignores(o.accuracy()) || t.ignores(c.accuracy) ||", "case t.ignores(c.accuracy) ||"},
	{"nor is the way back from it one", "crosses.go", "|| t.ignores(c.accuracy) ||", "||"},
	{"a crossing back ends a passage", "passages.go", "o.passages[i].direction != p.direction:", "false:"},
	{"a passage has the first crossing", "passages.go", "		case i >= 0:\n", "		case i >= 0:\n			o.passages[i] = p\n"},
	{"a passage is that of its line", "passages.go", "return q.set == set.ID && q.ref == ref })", "return q.set == set.ID })"},
	{"passages are of lines that rules select", "passages.go", "	if !x.crosses(f) {\n		return\n	}\n", ""},
	{"passages are bounded", "passages.go", "maxPassages = 64", "maxPassages = 640"},
	{"a fix near the line begins again", "passages.go", "		p.fixes = 0\n", ""},
	{"a passage takes all fixes", "passages.go", "return p.fixes >= fixes", "return p.fixes >= 1"},
	{"a sure fix confirms a passage", "passages.go", "case t.Sure > 0 && away >= certain:", "case certain < 0:"},
	{"a bad fix confirms no passage", "passages.go", "!own.ignores(o.accuracy()) && p.count", "p.count"},
	{"a fix without an altitude confirms no passage", "passages.go", "			case o.heightIn(f, &own) == unsaid:\n", ""},
	{"the next one says on which side the object is", "passages.go", "own.heightIn(f, c.altitude) == unsaid && s.isBehind(&p, f, o.point)", "false"},
	{"without such a fix the way says it", "passages.go", "own.heightIn(f, c.altitude) == unsaid && s.isBehind", "s.isBehind"},
	{"a line has settings too", "passages.go", "			own := t.of(f)\n			switch", "			own := *t\n			switch"},
	{"a passage needs a path", "crosses.go", "		o.dropPassages(set.ID)\n", ""},
	{"another policy drops passages", "passages.go", "set == nil || !samePolicy(old, set, p.ref)", "set == nil"},
	{"another rule drops passages", "passages.go", "!s.scope.of(p.set).crosses(f) || ", ""},
	{"another height drops passages", "passages.go", "isChanged(old, set, p.ref) || ", ""},
	{"another line drops passages", "passages.go", " || !sameLines(old.Snapshot.Fence(p.ref), f)", ""},
	{"a passage has its path", "emit.go", "e.Prev, e.Point, e.Altitude = ch.path.from, ch.path.to, ch.path.altitude", "_ = e"},
	{"crossings at one time are in the order of the path", "emit.go", "slices.SortStableFunc(s.changes, func(a, b change) int { return a.compare(&b) })", "slices.Reverse(s.changes)\n	slices.SortStableFunc(s.changes, func(a, b change) int { return a.compare(&b) })"},
	{"the last crossing dates a change", "crossing.go", "_, last, ok := s.Passes(ref, a, b)", "last, _, ok := s.Passes(ref, a, b)"},
	{"the state has the passages", "state.go", "	e.uint(uint64(len(x.passages)))\n	for i := range x.passages {", "	e.uint(0)\n	for i := range x.passages[:0] {"},
	{"the state has the direction of a passage", "state.go", "bit(p.direction == rule.Left)<<1", "bit(p.direction == rule.Right)<<1"},
	{"the state has the fixes of a passage", "state.go", "e.uint(uint64(p.fixes)<<2 | ", "e.uint("},
	{"a silent object leaves a fence that is removed", "settle.go", "if c.edited && set.Snapshot.Fence(was[i].ref) == nil {", "if false {"},
	{"the state has the altitude", "state.go", "	e.uint(bit(o.altitude().Known))\n	e.measures(o.altitude())\n", "	e.uint(0)\n"},
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
