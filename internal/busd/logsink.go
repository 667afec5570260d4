package busd

import (
	"io"
	"log/slog"

	"paddock/internal/process/logging"
)

// logSink is the program's log with what it writes to.
type logSink struct {
	*slog.Logger
	lines  *lineOutput // nil = a logger that was given
	file   *logFile    // nil = no file; used under the lock of lines
	closer io.Closer   // nil = stderr, or a logger that was given
}

// openLog opens what the settings name; given takes the place of stderr unless nil.
func openLog(log Log, stderr io.Writer, given *slog.Logger) (*logSink, error) {
	var out io.WriteCloser
	var err error
	sink := new(logSink)
	switch {
	case log.File != "":
		sink.file, err = openLogFile(log)
		out = sink.file
	case log.Syslog || log.Remote != "":
		out, err = openSyslog(log)
	case given != nil:
		return &logSink{Logger: given}, nil
	}
	if err != nil {
		return nil, err
	}
	h := newLineHandler(stderr, log, logging.IsTerminal(stderr))
	if out != nil {
		h, sink.closer = newLineHandler(out, log, false), out
	}
	sink.lines, sink.Logger = h.out, slog.New(h)
	return sink, nil
}

// reopen is the answer to SIGUSR1.
func (l *logSink) reopen() {
	if l.file == nil {
		l.Info("File log re-open ignored, not a file logger")
		return
	}
	l.lines.mu.Lock()
	err := l.file.open()
	l.lines.mu.Unlock()
	if err != nil {
		l.Error("log file: " + err.Error())
		return
	}
	l.Info("File log re-opened")
}

// configure takes over the settings that a reload changed, but not where the log goes.
func (l *logSink) configure(log Log) {
	if l.lines == nil {
		return
	}
	l.lines.mu.Lock()
	defer l.lines.mu.Unlock()
	l.lines.log = log
	if l.file != nil {
		l.file.log = log
	}
}

func (l *logSink) Close() error {
	if l.closer == nil {
		return nil
	}
	return l.closer.Close()
}
