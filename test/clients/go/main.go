// Command main streams one chat, read by the release of openai-go that it is built against, and prints what that showed as JSON. Its
// arguments are the URL, the key and the body of the call.
package main

import (
	"encoding/json"
	"log"
	"net/http"
	"os"
	"strings"

	"github.com/openai/openai-go/v3/packages/ssestream"
)

type chunk struct {
	Choices []struct {
		Delta        struct{ Content string }
		FinishReason string `json:"finish_reason"`
	}
}

func main() {
	url, key, body := os.Args[1], os.Args[2], os.Args[3]
	request, err := http.NewRequest(http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		log.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+key)
	request.Header.Set("Content-Type", "application/json")
	// The client of openai-go reads its streams so. The package alone is compiled here: all of it takes a minute of processor time.
	answer, err := http.DefaultClient.Do(request)
	stream := ssestream.NewStream[chunk](ssestream.NewDecoder(answer), err)
	var seen struct {
		Text         string `json:"text"`
		FinishReason string `json:"finishReason"`
	}
	for stream.Next() {
		for _, choice := range stream.Current().Choices {
			seen.Text += choice.Delta.Content
			seen.FinishReason += choice.FinishReason
		}
	}
	if err := stream.Err(); err != nil {
		log.Fatal(err)
	}
	if err := json.NewEncoder(os.Stdout).Encode(seen); err != nil {
		log.Fatal(err)
	}
}
