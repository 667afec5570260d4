package rule_test

import (
	"encoding/json"
	"fmt"
	"log"
	"time"

	"paddock/fence/track/rule"
)

func Example() {
	rules, err := rule.ParseFile("rules.yaml", []byte(`
rules:
  - id: school-speed
    set: schools
    objects: bus-*
    detect: [condition]
    when: speed_kmh > fence.maxspeed
    active: {zone: America/New_York, week: {mon-fri: ["07:00-09:00"]}}
  - id: arrivals
    set: depots
`))
	if err != nil {
		log.Fatal(err)
	}
	table, err := rule.NewTable(rules)
	if err != nil {
		log.Fatal(err)
	}

	// The rules of an object, and of all objects of its class.
	class := table.Class("city", "bus-7")
	for r := range table.RulesOf(class) {
		fmt.Println(r.ID, "detects", r.Detect)
	}

	// A condition reads measures, and properties that are prepared once for a fence.
	speeding, _ := table.Get("school-speed")
	var fence rule.Properties
	fence.Read(json.RawMessage(`{"maxspeed":30}`), speeding.When.FenceNames())
	in := rule.Input{Speed: rule.Measure{Value: 13.9, Known: true}, Fence: &fence}
	fmt.Println(speeding.When, "is", speeding.When.Holds(&in))

	// A schedule tells when it changes.
	night := time.Date(2026, 3, 12, 2, 0, 0, 0, time.UTC)
	at, opens, _ := speeding.Active.Next(night)
	fmt.Println("opens", opens, "at", at.UTC().Format(time.RFC3339))

	// A change gives another table, in which an object renews its class.
	patched, err := speeding.Patch([]byte(`{"enabled":false}`))
	if err != nil {
		log.Fatal(err)
	}
	next, err := table.Put(patched)
	if err != nil {
		log.Fatal(err)
	}
	class = next.Renew(class, table, "city", "bus-7")
	for r := range next.RulesOf(class) {
		fmt.Println(r.ID, "is left")
	}
	// Output:
	// arrivals detects enter,exit
	// school-speed detects condition
	// speed_kmh > fence.maxspeed is true
	// opens true at 2026-03-12T11:00:00Z
	// arrivals is left
}

func ExampleRule_AppendJSON() {
	r := rule.Rule{
		ID: "overstay", Set: "customers",
		Detect: rule.DwellTime, Dwell: rule.Dwell{After: 30 * time.Minute},
	}
	if err := r.Check(); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s\n", r.AppendJSON(nil))
	// Output:
	// {"id":"overstay","set":"customers","detect":["dwell"],"dwell":{"after":"30m"}}
}
