package cli

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"

	"paddock/fence"
	"paddock/lab/internal/doors"
	"paddock/lab/internal/gofence"
	"paddock/lab/process"
)

// fenceSubject is the input on which the kinds of index are compared, as services: the files that
// each of them loads, the set that is searched, and the bodies that are posted.
type fenceSubject struct {
	dir, set  string
	simulated bool // dir holds the simulated city
	corpus    *gofence.Corpus
	remove    func() error // removes the temporary files
}

// newFenceSubject uses the files of a directory, or of the simulated city without one, and posts
// the lines of a file of bodies, if there is one.
func newFenceSubject(dir, bodies string) (*fenceSubject, error) {
	s := &fenceSubject{simulated: dir == ""}
	var err error
	if s.dir, s.remove, err = townUnless(dir); err != nil {
		return nil, err
	}
	if s.corpus, err = corpusOf(bodies, s.dir); err == nil {
		var places *doors.Places
		if places, err = doors.ReadPlaces(s.dir); err == nil {
			s.set = places.Largest.Name()
		}
	}
	if err != nil {
		return nil, errors.Join(err, s.remove())
	}
	return s, nil
}

// start starts a service of one kind as a process of this program, with more flags. Searches
// are posted to url.
func (s *fenceSubject) start(ctx context.Context, v gofence.Variant, parents string, flags ...string) (server *process.Server, target string, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, "", err
	}
	args := append([]string{s.dir, "--fence", v.Kind}, flags...)
	if v.Zoom > 0 {
		args = append(args, "--zoom", strconv.Itoa(v.Zoom))
	}
	if parents = s.parentsOr(parents); parents != "" {
		args = append(args, "--parents", parents)
	}
	if server, err = process.StartFence(ctx, self, args...); err != nil {
		return nil, "", err
	}
	return server, server.URL + "/fence/" + url.PathEscape(s.set) + "/search", nil
}

// parentsOr returns the file of areas that was named, or else the boroughs of the simulated city;
// "" if there are none.
func (s *fenceSubject) parentsOr(named string) string {
	if named == "" && s.simulated {
		return gofence.TownParents(s.dir)
	}
	return named
}

// warn says that a kind groups fences by areas, and has none.
func (s *fenceSubject) warn(c *Console, v gofence.Variant, parents string) {
	city := v.Kind == string(fence.KindCity) || v.Kind == string(fence.KindCityBBox)
	if city && s.parentsOr(parents) == "" && c.variable("NYC_BOROS_PATH") == "" {
		fmt.Fprintf(c.Stderr, "%s: no --parents: it looks at all fences\n", v.Name)
	}
}

// variantsOf are the rows that a flag names, all if it names none.
func variantsOf(flag string, names []string) ([]gofence.Variant, error) {
	all := gofence.Variants()
	if len(names) == 0 {
		return all, nil
	}
	var chosen []gofence.Variant
	for _, name := range names {
		i := slices.IndexFunc(all, func(v gofence.Variant) bool { return v.Name == name || v.Kind == name })
		if i < 0 {
			var known []string
			for _, v := range all {
				known = append(known, v.Name)
			}
			return nil, fmt.Errorf("%s: no row %q; there are %s", flag, name, strings.Join(known, ", "))
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}

// townUnless is the directory that was named, or a temporary one with the simulated city,
// which remove removes.
func townUnless(named string) (dir string, remove func() error, err error) {
	if named != "" {
		return named, func() error { return nil }, nil
	}
	if dir, remove, err = process.TempDir("paddock-town-"); err != nil {
		return "", nil, err
	}
	if err := gofence.WriteTown(dir); err != nil {
		return "", nil, errors.Join(err, remove())
	}
	return dir, remove, nil
}

// corpusOf reads a file of bodies, or makes the corpus of a directory.
func corpusOf(bodies, dir string) (*gofence.Corpus, error) {
	if bodies != "" {
		text, err := os.ReadFile(bodies)
		if err != nil {
			return nil, err
		}
		corpus, err := gofence.ParseCorpus(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", bodies, err)
		}
		return corpus, nil
	}
	corpus, err := gofence.ReadCorpus(os.DirFS(dir))
	if errors.Is(err, gofence.ErrNoPositions) {
		return nil, usagef("%s: %w; give --bodies", dir, err)
	}
	return corpus, err
}
