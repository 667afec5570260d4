package clientscheck

import (
	"encoding/json"
	"strconv"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
)

func service() {
	server, nc := connect(), connect()
	s, err := micro.AddService(server, micro.Config{
		Name: "calc", Version: "1.2.3", Description: "doubles", Metadata: map[string]string{"unit": "one"},
	})
	if err != nil {
		fatal("service", err)
	}
	err = s.AddGroup("v1").AddEndpoint("double", micro.HandlerFunc(func(r micro.Request) {
		n, err := strconv.Atoi(string(r.Data()))
		if err != nil {
			_ = r.Error("400", "not a number", []byte("sorry"))
			return
		}
		_ = r.Respond([]byte(strconv.Itoa(2 * n)))
	}))
	if err != nil {
		fatal("endpoint", err)
	}
	flush(server)
	for _, text := range []string{"21", "many"} {
		m, err := nc.Request("v1.double", []byte(text), patience)
		if err != nil {
			fatal("v1.double", err)
		}
		sayHeaders(&nats.Msg{Subject: "answer", Data: m.Data, Header: m.Header})
	}
	for _, verb := range []string{"PING", "INFO", "STATS"} {
		for _, who := range []string{"", ".calc", ".calc." + s.Info().ID} {
			askService(nc, verb, verb+who, s.Info().ID)
		}
	}
	_, err = nc.Request("$SRV.PING.other", nil, patience)
	say("PING.other: %v", err)
	if err := s.Stop(); err != nil {
		say("stop: %v", err)
	}
	flush(server)
	_, err = nc.Request("v1.double", nil, patience)
	say("after stop: %v", err)
	server.Close()
	nc.Close()
}

// answered holds the common fields of a service's three answers.
type answered struct {
	Type      string
	Name      string
	ID        string
	Version   string
	Endpoints []struct {
		Name        string
		Subject     string
		QueueGroup  string `json:"queue_group"`
		NumRequests int    `json:"num_requests"`
		NumErrors   int    `json:"num_errors"`
	}
}

func askService(nc *nats.Conn, verb, subject, id string) {
	m, err := nc.Request("$SRV."+subject, nil, patience)
	if err != nil {
		say("%s: %v", verb, err)
		return
	}
	var a answered
	if err := json.Unmarshal(m.Data, &a); err != nil {
		fatal(verb, err)
	}
	say("%s: %s %s %s, its id: %v", verb, a.Type, a.Name, a.Version, a.ID == id)
	for _, e := range a.Endpoints {
		say("  %s on %s in %q: %d requests, %d errors", e.Name, e.Subject, e.QueueGroup, e.NumRequests, e.NumErrors)
	}
}
