package ab

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"
)

// WriteFiles writes the files of -e and -g. kept is the number of requests in the file of -g, where
// all of them would not fit in memory.
func (p *Report) WriteFiles() (kept int64, err error) {
	if p.o.CSV != "" && p.r.done > 0 {
		err = errors.Join(err, writeFile(p.o.CSV, p.writeCSV))
	}
	if p.o.Gnuplot != "" {
		err = errors.Join(err, writeFile(p.o.Gnuplot, p.writeGnuplot))
	}
	return int64(len(p.r.samples)), err
}

func writeFile(name string, write func(io.Writer)) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	write(w)
	return errors.Join(w.Flush(), f.Close())
}

// writeCSV writes the times of all percentages.
func (p *Report) writeCSV(w io.Writer) {
	fmt.Fprintln(w, "Percentage served,Time in ms")
	for share := range int64(101) {
		fmt.Fprintf(w, "%d,%.3f\n", share, float64(p.total.share(share))/1000)
	}
}

// writeGnuplot writes the times of each request, the shortest first.
func (p *Report) writeGnuplot(w io.Writer) {
	slices.SortStableFunc(p.r.samples, func(a, b sample) int { return int(int64(a.total) - int64(b.total)) })
	fmt.Fprintln(w, "starttime\tseconds\tctime\tdtime\tttime\twait")
	ms := func(us uint32) int64 { return milliseconds(int64(us)) }
	for _, s := range p.r.samples {
		began := p.result.Began.Add(time.Duration(s.began) * time.Millisecond)
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\n", began.Format(time.ANSIC), began.Unix(), ms(s.connect), ms(s.processing()), ms(s.total), ms(s.wait))
	}
}
