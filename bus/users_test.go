package bus_test

import (
	"encoding/base64"
	"encoding/json"
	"testing"
	"time"

	"github.com/nats-io/nkeys"

	"paddock/bus"
)

// userText is a user as configuration files have it.
type userText struct {
	User, Password, NKey string
	Permissions          *struct {
		Publish, Subscribe bus.SubjectPermission
		AllowResponses     *struct {
			Max     int
			Expires string
		} `json:"allow_responses"`
	}
	Connections []bus.ConnectionType `json:"allowed_connection_types"`
}

func (h *history) usersForTest(t *testing.T) (users []bus.User) {
	if h.users == "" {
		return nil
	}
	var texts []userText
	if err := json.Unmarshal([]byte(h.users), &texts); err != nil {
		t.Fatalf("%s: %v", h.name, err)
	}
	for _, text := range texts {
		u := bus.User{Name: text.User, Password: text.Password, NKey: text.NKey, Connections: text.Connections}
		if p := text.Permissions; p != nil {
			u.Permissions = &bus.Permissions{Publish: p.Publish, Subscribe: p.Subscribe}
			if a := p.AllowResponses; a != nil {
				expires, err := time.ParseDuration(a.Expires)
				if err != nil {
					t.Fatal(err)
				}
				u.Permissions.AllowResponses = &bus.ResponsePermission{Max: a.Max, Expires: expires}
			}
		}
		users = append(users, u)
	}
	return users
}

// encode signs a nonce and writes the signature in one of the two base64.
func encode(t *testing.T, pair nkeys.KeyPair, nonce string, std bool) string {
	t.Helper()
	sig := must[[]byte](t)(pair.Sign([]byte(nonce)))
	if std {
		return base64.StdEncoding.EncodeToString(sig)
	}
	return base64.RawURLEncoding.EncodeToString(sig)
}
