package subjects

import (
	"testing"
)

func TestTokens(t *testing.T) {
	for id, want := range map[string]string{
		"v42": "v42", "MTA NYCT_3846": "MTA%20NYCT_3846", "a.b": "a%2Eb", "*": "%2A", ">": "%3E",
		"_": "%5F", "__": "__", "": "_", "%": "%25", "é": "%C3%A9",
	} {
		if got := string(AppendToken(nil, id)); got != want {
			t.Errorf("Token(%q) = %q, want %q", id, got, want)
		}
	}
	for _, bad := range []string{"", "_", "a.b", "a b", "%", "%2", "%zz", "a%", "é", "*"} {
		if id, ok := ParseToken(bad); ok {
			t.Errorf("ParseToken(%q) = %q", bad, id)
		}
	}
}

func FuzzToken(f *testing.F) {
	for _, id := range []string{"MTA NYCT_3846", "a.b", "*", ">", "_", "%5F", "é", "日本", "\"\\", "\x01\n", "a/b", "<&>"} {
		f.Add(id)
	}
	f.Fuzz(func(t *testing.T, id string) {
		token := string(AppendToken(nil, id))
		back, ok := ParseToken(token)
		if id == "" {
			if ok {
				t.Errorf("the empty id has token %q", token)
			}
			return
		}
		if !ok || back != id {
			t.Errorf("%q -> %q -> %q, %v", id, token, back, ok)
		}
	})
}
