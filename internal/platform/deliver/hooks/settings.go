package hooks

import (
	"fmt"
	"net/netip"

	"paddock/internal/platform/deliver"
	"paddock/internal/platform/deliver/webhook"
	"paddock/internal/process/strictyaml"
)

// Settings is the section webhooks of the configuration file.
type Settings struct {
	Allow     []netip.Prefix // blocks of addresses that are dialled beside the public internet
	RootCA    string         // PEM file of the authorities of endpoints; "": the system's
	Endpoints []*webhook.Endpoint
	File      string // the name of the file, for errors and answers

	places map[string]string // in the file, by id
}

// Read reads the section. Faults are those of the file.
func Read(n *strictyaml.Node) *Settings {
	s := &Settings{}
	strictyaml.Fields{
		"allow":   strictyaml.ListInto(&s.Allow, block),
		"root_ca": strictyaml.Into(&s.RootCA, strictyaml.NonEmpty),
		"endpoints": func(e strictyaml.Entry) {
			s.readEndpoints(e.Value)
		},
	}.Read(n, "webhooks")
	return s
}

func (s *Settings) readEndpoints(n *strictyaml.Node) {
	items := n.Items("endpoints")
	if len(items) > webhook.MaxEndpoints {
		n.Fault("%d webhooks, the limit is %d", len(items), webhook.MaxEndpoints)
		return
	}
	s.places = map[string]string{}
	for _, item := range items {
		e := webhook.Read(item)
		if other := s.places[e.ID]; other != "" {
			item.Fault("id: %s is the id of the webhook at %s too", e.ID, other)
			continue
		}
		s.places[e.ID] = item.Place()
		s.Endpoints = append(s.Endpoints, e)
	}
}

// block reads a block of addresses, or one address.
func block(text string) (netip.Prefix, error) {
	if p, err := netip.ParsePrefix(text); err == nil {
		return p.Masked(), nil
	}
	if a, err := netip.ParseAddr(text); err == nil && a.Zone() == "" {
		return netip.PrefixFrom(a, a.BitLen()), nil
	}
	return netip.Prefix{}, fmt.Errorf("%q is no block of addresses such as 10.0.0.0/8", text)
}

// Locate makes relative paths those below the directory of the file.
func (s *Settings) Locate(dir string) { deliver.Below(dir, &s.RootCA) }
