// Receives events and verifies them with the standard library alone.
//
// WEBHOOK_SECRET is what `tributary webhooks create` printed (whsec_...); PORT is where it listens on this machine (8080).
package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

const tolerance = 5 * time.Minute
const maxBytes = 16 << 20

// isGenuine tells whether one of the signatures is ours, over exactly these bytes, and recent.
func isGenuine(key []byte, header http.Header, body []byte) bool {
	id, timestamp := header.Get("webhook-id"), header.Get("webhook-timestamp")
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil || time.Since(time.Unix(seconds, 0)).Abs() > tolerance {
		return false
	}
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%s.%s.", id, timestamp)
	mac.Write(body)
	wanted := []byte("v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	// While a secret is rotated there are several, with a blank between them.
	for _, given := range strings.Split(header.Get("webhook-signature"), " ") {
		if hmac.Equal([]byte(given), wanted) {
			return true
		}
	}
	return false
}

type event struct {
	Type string `json:"type"`
	Data struct {
		New []struct {
			// An int64 would end at 2^63, a float64 would change digits beyond 2^53; a trade has none.
			Amount   *big.Int `json:"amount"`
			Currency string   `json:"currency"`
		} `json:"new"`
	} `json:"data"`
	Metadata struct {
		NewCount     int `json:"new_count"`
		UpdatedCount int `json:"updated_count"`
	} `json:"metadata"`
}

func main() {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(os.Getenv("WEBHOOK_SECRET"), "whsec_"))
	if err != nil || len(key) == 0 {
		log.Fatal("set WEBHOOK_SECRET to the secret of the endpoint")
	}
	port := os.Getenv("PORT")
	if port == "" {
		port = "8080"
	}
	// A real receiver keeps the ids as long as events are replayed.
	var handled sync.Map
	receive := func(response http.ResponseWriter, request *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(response, request.Body, maxBytes))
		if err != nil || !isGenuine(key, request.Header, body) {
			response.WriteHeader(http.StatusUnauthorized)
			return
		}
		// The same event may come twice: an answer that is lost is asked for again.
		if _, isKnown := handled.LoadOrStore(request.Header.Get("webhook-id"), true); !isKnown {
			var received event
			if err := json.Unmarshal(body, &received); err == nil {
				fmt.Printf("%s: %d new, %d updated\n", received.Type, received.Metadata.NewCount, received.Metadata.UpdatedCount)
				for _, row := range received.Data.New {
					if row.Amount != nil {
						fmt.Printf("  %s %s\n", row.Amount, row.Currency)
					}
				}
			}
		}
		response.WriteHeader(http.StatusNoContent)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:"+port)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("listening on port %d\n", listener.Addr().(*net.TCPAddr).Port)
	log.Fatal(http.Serve(listener, http.HandlerFunc(receive)))
}
