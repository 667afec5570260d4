package nats

import (
	"fmt"
	"strings"
)

// checkSubject refuses what is no subject, or, with wildcards, no pattern.
func checkSubject(s string, wildcards bool) error {
	tokens := strings.Split(s, ".")
	for i, t := range tokens {
		switch {
		case t == "" || strings.ContainsAny(t, " \t\r\n\x00"):
			return fmt.Errorf("%q is no subject: token %d is empty or has a blank", s, i+1)
		case !wildcards && (t == "*" || t == ">"):
			return fmt.Errorf("%q has a wildcard, and nothing is published to one", s)
		case t == ">" && i < len(tokens)-1:
			return fmt.Errorf("%q is no subject: > is the last token alone", s)
		}
	}
	return nil
}

func checkQueue(s string) error {
	if strings.ContainsAny(s, " \t\r\n\x00") {
		return fmt.Errorf("%q is no name of a queue: it has a blank", s)
	}
	return nil
}
