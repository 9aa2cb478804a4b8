// Asks the nearest of several daemons that answers, with Go's own packages: a line of the input is who asks.
//
//	go run daemons.go host:port ... <ids
//
// A request goes to the next daemon only while it was not sent: whoever got it may have charged it. A daemon is asked
// when it has a share: before that it refuses everything. One goroutine at a time may use it.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	timeout        = 500 * time.Millisecond
	connectTimeout = 250 * time.Millisecond
	pause          = time.Second
)

// What a daemon answers with an error: it has decided nothing and charged nothing.
type refusal string

func (r refusal) Error() string { return string(r) }

type daemon struct {
	address   string
	conn      *net.TCPConn // nil: there is none
	reader    *bufio.Reader
	awayUntil time.Time
}

func (d *daemon) drop() {
	if d.conn != nil {
		d.conn.Close()
		d.conn = nil
	}
	d.awayUntil = time.Now().Add(pause)
}

// Whether the daemon has closed the connection, or it is no use any more.
func (d *daemon) closed() bool {
	raw, err := d.conn.SyscallConn()
	if err != nil {
		return true
	}
	closed := true
	err = raw.Read(func(fd uintptr) bool {
		_, err := syscall.Read(int(fd), make([]byte, 1))
		closed = err != syscall.EAGAIN && err != syscall.EWOULDBLOCK
		return true // do not wait
	})
	return err != nil || closed
}

// Sends a command and reads its answer: int64, string, []any, or nil.
func (d *daemon) command(words ...string) (any, error) {
	d.conn.SetDeadline(time.Now().Add(timeout))
	var request strings.Builder
	fmt.Fprintf(&request, "*%d\r\n", len(words))
	for _, word := range words {
		fmt.Fprintf(&request, "$%d\r\n%s\r\n", len(word), word)
	}
	if _, err := io.WriteString(d.conn, request.String()); err != nil {
		return nil, err
	}
	return d.read()
}

func (d *daemon) read() (any, error) {
	line, err := d.reader.ReadString('\n')
	if err != nil {
		return nil, err
	}
	if line = strings.TrimSuffix(line, "\r\n"); line == "" {
		return nil, errors.New("an empty line")
	}
	kind, rest := line[0], line[1:]
	switch kind {
	case '+':
		return rest, nil
	case '-':
		return nil, refusal(rest)
	}
	number, err := strconv.ParseInt(rest, 10, 64)
	if err != nil {
		return nil, err
	}
	switch {
	case kind == ':':
		return number, nil
	case number < 0:
		return nil, nil
	case kind == '$':
		text := make([]byte, number+2)
		_, err := io.ReadFull(d.reader, text)
		return string(text[:number]), err
	case kind == '*':
		values := make([]any, 0, 8)
		for ; number > 0; number-- {
			value, err := d.read()
			if err != nil {
				return nil, err
			}
			values = append(values, value)
		}
		return values, nil
	}
	return nil, fmt.Errorf("what begins with %q is no answer", kind)
}

// Connects if need be. False: the daemon is away, or has no share yet.
func (d *daemon) connect() bool {
	if d.conn != nil && !d.closed() {
		return true
	}
	if d.conn == nil && time.Now().Before(d.awayUntil) {
		return false
	}
	d.drop()
	conn, err := net.DialTimeout("tcp", d.address, connectTimeout)
	if err != nil {
		return false
	}
	d.conn, d.reader = conn.(*net.TCPConn), bufio.NewReader(conn)
	answer, err := d.command("PEEK", "anybody", "VERBOSE") // takes nothing
	var refused refusal
	if errors.As(err, &refused) { // this user may not ask, or there is no limit for everybody
		return true
	}
	if err != nil || strings.Contains(fmt.Sprint(answer), "not_ready") {
		d.drop()
		return false
	}
	return true
}

// Daemons are asked in this order.
type Daemons []*daemon

// Ask returns the answer and who gave it; nil and "": nobody did.
func (daemons Daemons) Ask(words ...string) (any, string) {
	for _, d := range daemons {
		if !d.connect() {
			continue
		}
		answer, err := d.command(words...)
		var refused refusal
		if err != nil && !errors.As(err, &refused) {
			d.drop()
			return nil, "" // it may have been charged
		}
		return answer, d.address
	}
	return nil, ""
}

// CanAccess says `absent` if nobody answers.
func (daemons Daemons) CanAccess(key string, absent bool) (bool, string) {
	answer, by := daemons.Ask("CAN_ACCESS", key)
	if by == "" {
		return absent, "nobody"
	}
	return answer == int64(1), by
}

func main() {
	var daemons Daemons
	for _, address := range os.Args[1:] {
		daemons = append(daemons, &daemon{address: address})
	}
	for names := bufio.NewScanner(os.Stdin); names.Scan(); {
		said := "not now"
		allowed, by := daemons.CanAccess(names.Text(), false)
		if allowed {
			said = "go ahead"
		}
		fmt.Printf("%s: %s, said by %s\n", names.Text(), said, by)
	}
}
