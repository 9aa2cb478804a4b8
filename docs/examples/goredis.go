// Asks the nearest of several daemons that answers, with go-redis: a line of the input is who asks.
//
//	go run goredis.go host:port ... <ids
//
// go-redis notices that a kept connection was closed before it sends anything, and connects anew. Only where it cannot
// connect the next daemon is asked: whoever got a request may have charged it. A daemon that was away, or was not asked
// yet, is asked first whether it has a share. One goroutine at a time may use a Daemons; the clients may be shared.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

const pause = time.Second

func client(address string) *redis.Client {
	return redis.NewClient(&redis.Options{
		Addr:          address,
		Protocol:      2,  // CHECK answers with an array; with 3, the default, with a map
		MaxRetries:    -1, // what was sent is not sent again
		DialerRetries: 1,
		DialTimeout:   250 * time.Millisecond,
		ReadTimeout:   500 * time.Millisecond,
		WriteTimeout:  500 * time.Millisecond,
	})
}

type daemon struct {
	address   string
	client    *redis.Client
	ready     bool // it had a share when it was asked last
	awayUntil time.Time
}

func (d *daemon) away() {
	d.ready = false
	d.awayUntil = time.Now().Add(pause)
}

// Whether the daemon has said no: it has decided nothing and charged nothing.
func refused(err error) bool {
	var said redis.Error
	return errors.As(err, &said)
}

// Whether nothing was sent.
func notSent(err error) bool {
	var failed *net.OpError
	return errors.Is(err, redis.ErrPoolTimeout) || errors.As(err, &failed) && failed.Op == "dial"
}

func (d *daemon) hasShare(ctx context.Context) bool {
	if d.ready {
		return true
	}
	if time.Now().Before(d.awayUntil) {
		return false
	}
	answer, err := d.client.Do(ctx, "PEEK", "anybody", "VERBOSE").Result() // takes nothing
	d.ready = err == nil && !strings.Contains(fmt.Sprint(answer), "not_ready") || refused(err)
	if !d.ready {
		d.away()
	}
	return d.ready
}

// Daemons are asked in this order.
type Daemons []*daemon

// Ask returns the answer and who gave it; nil and "": nobody did.
func (daemons Daemons) Ask(ctx context.Context, words ...any) (any, string) {
	for _, d := range daemons {
		if !d.hasShare(ctx) {
			continue
		}
		answer, err := d.client.Do(ctx, words...).Result()
		if err == nil || refused(err) {
			return answer, d.address
		}
		d.away()
		if !notSent(err) {
			return nil, "" // it may have been charged
		}
	}
	return nil, ""
}

func main() {
	var daemons Daemons
	for _, address := range os.Args[1:] {
		daemons = append(daemons, &daemon{address: address, client: client(address)})
	}
	for names := bufio.NewScanner(os.Stdin); names.Scan(); {
		said := "not now"
		answer, by := daemons.Ask(context.Background(), "CAN_ACCESS", names.Text())
		if by == "" {
			by = "nobody"
		} else if answer == int64(1) {
			said = "go ahead"
		}
		fmt.Printf("%s: %s, said by %s\n", names.Text(), said, by)
	}
}
