package tunneld

import (
	"net"
	"testing"
	"time"

	"paddock/internal/process/keyid"
	"paddock/wire"
)

// A client can be admitted by a list at the moment at which the list is replaced or the client is
// kicked. Such a client is not found among the connected ones, and must not bind anything.
func TestAuthorizeByThePresentList(t *testing.T) {
	near, far := net.Pipe()
	defer far.Close()
	conn, err := wire.AcceptConn(near, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	before := Peer{Name: "bus", ID: keyid.ID{1}}
	r := &Role{roster: NewRoster([]Peer{before})}
	conn.SetIdentity(member{before.Name, before.proof()})
	may := func(want bool, when string) {
		t.Helper()
		if err := r.Authorize(conn, "tunnel.bind"); (err == nil) != want {
			t.Errorf("%s: %v", when, err)
		}
	}
	may(true, "by the list")
	r.roster.Block("bus", time.Hour)
	may(false, "sent away")
	r.roster.Block("bus", 0)
	may(true, "let in again")
	r.roster.Replace([]Peer{{Name: "bus", ID: keyid.ID{2}}})
	may(false, "by a list with another key")
}
