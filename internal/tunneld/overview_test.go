package tunneld_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"paddock/internal/tunneld"
)

// overview is GET /v1/tunnel at the server's admin address.
func (s *stage) overview(query string) (o tunneld.Overview) {
	s.t.Helper()
	code, text := ask(s.t, s.server.Admin().String(), "/v1/tunnel"+query, "", "")
	if code != http.StatusOK {
		s.t.Fatalf("%d %s", code, text)
	}
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		s.t.Fatal(err)
	}
	return o
}

// The overview lists the connected clients, their names and the fate of visitors. A search by name
// also finds the clients that hold a matching name.
func TestOverview(t *testing.T) {
	s := newStage(t)
	bound, _ := s.connect(t.Context(), "127.0.0.1:1", "", nil)
	<-bound
	if got := s.status(); got != http.StatusBadGateway {
		t.Fatalf("a target that is not there: %d", got)
	}
	o := s.overview("")
	if len(o.Sessions) != 1 || o.SessionsAll != 1 || o.Sessions[0].Name != "a" || o.Sessions[0].Names[0] != "app.example" {
		t.Errorf("sessions: %+v", o.Sessions)
	}
	if len(o.Tunnels) != 1 || o.TunnelsAll != 1 || o.Tunnels[0].At != "app.example" || o.Tunnels[0].Identity != "a" ||
		o.Tunnels[0].Begun != 1 || o.Tunnels[0].Refused != 1 || o.Tunnels[0].Limit == 0 {
		t.Errorf("tunnels: %+v", o.Tunnels)
	}
	if f := o.Figures; f.Sessions != 1 || f.Names != 1 || f.Begun != 1 || f.Received == 0 || f.BytesLimit == 0 || f.VisitorsLimit == 0 {
		t.Errorf("figures: %+v", f)
	}
	if len(o.Refused) != 1 || o.Refused[0] != (tunneld.RefusedLine{Stage: "target", Reason: "unreachable", Count: 1}) {
		t.Errorf("refused: %+v", o.Refused)
	}
	if o := s.overview("?find=APP.ex&limit=1"); len(o.Sessions) != 1 || len(o.Tunnels) != 1 {
		t.Errorf("found by a part of its name: %+v", o)
	}
	if o := s.overview("?find=other"); o.SessionsAll != 0 || o.TunnelsAll != 0 || o.Sessions == nil || o.Tunnels == nil {
		t.Errorf("found by what is none of its names: %+v", o)
	}
	if code, _ := ask(t, s.server.Admin().String(), "/v1/tunnel?limit=201", "", ""); code != http.StatusBadRequest {
		t.Errorf("limit 201: %d", code)
	}
}
