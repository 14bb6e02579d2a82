// Copyright (c) The resilientjob authors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"errors"
	"net"
	"sync"
	"time"
)

// distant lets a server seem so far away: what is sent to its address arrives half of the round trip later, and what it answers the other half.
// It returns the address to call, and what ends it.
func distant(server string, roundTrip time.Duration) (address string, stop func() error, err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it ends with stop
	if err != nil {
		return "", nil, err
	}
	var connections sync.WaitGroup
	connections.Go(func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return // it is stopped
			}
			far, err := net.Dial("tcp", server) //nolint:noctx // it ends with its peer
			if err != nil {
				_ = near.Close()
				continue
			}
			connections.Go(func() { carry(far, near, roundTrip/2) })
			connections.Go(func() { carry(near, far, roundTrip/2) })
		}
	})
	return listener.Addr().String(), func() error {
		err := listener.Close()
		connections.Wait()
		return err
	}, nil
}

// parcel is bytes that are on their way.
type parcel struct {
	bytes []byte
	due   time.Time
}

// carry brings what one side says to the other, late, until either has nothing more to say.
func carry(to, from net.Conn, late time.Duration) {
	under := make(chan parcel, 1<<12)
	go func() {
		defer close(under)
		for {
			buffer := make([]byte, 1<<16)
			n, err := from.Read(buffer)
			if n > 0 {
				under <- parcel{buffer[:n], time.Now().Add(late)}
			}
			if err != nil {
				return
			}
		}
	}()
	for p := range under {
		time.Sleep(time.Until(p.due))
		if _, err := to.Write(p.bytes); err != nil {
			break
		}
	}
	_ = errors.Join(to.Close(), from.Close()) // the other direction ends by it
	for range under {
		continue // what is left is for nobody
	}
}
