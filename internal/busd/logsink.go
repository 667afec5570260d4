package busd

import (
	"io"
	"log/slog"

	"paddock/internal/process/logging"
)

// logSink is the program's log with what it writes to.
type logSink struct {
	*slog.Logger
	lines *lineOutput // nil = a logger that was given
	file  *logFile    // nil = no file
	other io.Closer   // nil = none
}

// openLog opens what the settings name; given takes the place of stderr unless nil.
func openLog(log Log, stderr io.Writer, given *slog.Logger) (*logSink, error) {
	sink := new(logSink)
	w, colors := stderr, logging.IsTerminal(stderr)
	switch {
	case log.File != "":
		file, err := openLogFile(log)
		if err != nil {
			return nil, err
		}
		w, colors, sink.file = file, false, file
	case log.Syslog || log.Remote != "":
		conn, err := openSyslog(log)
		if err != nil {
			return nil, err
		}
		w, colors, sink.other = conn, false, conn
	case given != nil:
		sink.Logger = given
		return sink, nil
	}
	h := newLineHandler(w, log, colors)
	sink.lines, sink.Logger = h.out, slog.New(h)
	return sink, nil
}

// reopen is the answer to SIGUSR1.
func (l *logSink) reopen() {
	if l.file == nil {
		l.Info("File log re-open ignored, not a file logger")
		return
	}
	if err := l.file.Reopen(); err != nil {
		l.Error(err.Error())
		return
	}
	l.Info("File log re-opened")
}

// configure takes over what a reload changed. The place of the log stays.
func (l *logSink) configure(log Log) {
	if l.lines != nil {
		l.lines.configure(log)
	}
	if l.file != nil {
		l.file.configure(log)
	}
}

func (l *logSink) Close() error {
	switch {
	case l.file != nil:
		return l.file.Close()
	case l.other != nil:
		return l.other.Close()
	}
	return nil
}
