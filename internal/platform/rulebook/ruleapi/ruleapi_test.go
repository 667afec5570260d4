package ruleapi

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"paddock/fence"
	"paddock/fence/track"
	"paddock/fence/track/rule"
	"paddock/internal/platform/httpapi/etag"
	"paddock/internal/platform/rulebook"
	"paddock/internal/process/keyring"
)

// A key learns nothing of a rule that it is not for, be it of the API or of a file: a change of it
// has the answer of an unknown one. Only its id is taken.
func TestRulesOfOthers(t *testing.T) {
	ring, err := keyring.Open(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer ring.Close()
	if err := ring.Add(keyring.Key{Name: "mine", SHA256: keyring.DigestOf("secret"), Verbs: []string{"rules:write"}, Sets: []string{"own"}}); err != nil {
		t.Fatal(err)
	}
	rules := &Rules{
		Book: rulebook.New(track.Policy{}), Catalog: &fence.Catalog{}, By: ring.Find("secret"),
		Refusing: func() string { return "" }, Settle: func() error { return nil },
	}
	filed, err := rule.Parse([]byte(`{"id":"filed","set":"theirs","detect":["enter"]}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := rules.Book.SetFiles(rulebook.Files{Rules: []*rule.Rule{filed}, RulesFile: "theirs.yaml"}); err != nil {
		t.Fatal(err)
	}
	other := *rules
	other.By = nil
	if _, err := other.Put("kept", []byte(`{"set":"theirs","detect":["enter"]}`), etag.Condition{}); err != nil {
		t.Fatal(err)
	}
	_, tag, err := other.Get("kept")
	if err != nil {
		t.Fatal(err)
	}
	answer := func(id string, err error) string { return strings.ReplaceAll(err.Error(), id, "ID") }
	for _, c := range []etag.Condition{{}, {Match: tag}, {Match: "*"}, {NoneMatch: "*"}} {
		patch := func(id string) error { _, err := rules.Patch(id, []byte(`{"set":"own"}`), c); return err }
		for name, change := range map[string]func(id string) error{"delete": func(id string) error { return rules.Delete(id, c) }, "patch": patch} {
			want := answer("none", change("none"))
			for _, id := range []string{"kept", "filed"} {
				if got := answer(id, change(id)); got != want {
					t.Errorf("%s %s %+v: %q, of an unknown rule %q", name, id, c, got, want)
				}
			}
		}
		for _, id := range []string{"kept", "filed"} {
			_, err := rules.Put(id, []byte(`{"set":"own","detect":["enter"]}`), c)
			refused, _ := errors.AsType[*Error](err)
			if refused == nil || refused.Status != http.StatusForbidden || strings.Contains(err.Error(), "theirs") {
				t.Errorf("put %s %+v: %v", id, c, err)
			}
		}
	}
	if _, same, err := other.Get("kept"); err != nil || same != tag {
		t.Errorf("%s has become %s, %v", tag, same, err)
	}
}
