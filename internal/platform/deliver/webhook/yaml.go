package webhook

import (
	"errors"
	"strconv"

	"paddock/internal/process/config"
	"paddock/internal/process/strictyaml"
)

func text(s string) (string, error) { return s, nil }

// yamlFields returns the readers of an endpoint's keys.
func (e *Endpoint) yamlFields() strictyaml.Fields {
	fields := strictyaml.Fields{
		"id": strictyaml.Into(&e.ID, text), "url": strictyaml.Into(&e.URL, text),
		"objects": strictyaml.Into(&e.Objects, text), "format": strictyaml.Into(&e.Format, text),
		"max_batch": strictyaml.Into(&e.MaxBatch, whole), "enabled": strictyaml.Into(&e.Enabled, strictyaml.Either("false", "true")),
		"secrets": strictyaml.ListInto(&e.Secrets, given), "headers": e.readHeaders,
	}
	for name, list := range e.Lists() {
		fields[name] = strictyaml.ListInto(list, text)
	}
	return fields
}

func whole(s string) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0, errors.New("want a whole number")
	}
	return n, nil
}

// given reads a secret that has to stand in the file.
func given(s string) (config.Secret, error) {
	if s == string(Hidden) {
		return "", errors.New("a file holds the secret itself, or ${NAME} of the environment")
	}
	return config.Secret(s), nil
}

func (e *Endpoint) readHeaders(entry strictyaml.Entry) {
	e.Headers = map[string]config.Secret{}
	for _, h := range entry.Value.Entries("headers") {
		var value config.Secret
		strictyaml.Into(&value, given)(h)
		e.Headers[h.Key] = value
	}
}
