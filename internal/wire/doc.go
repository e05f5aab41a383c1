// Package wire is what the adapters of models share: one HTTP client with
// watchdogs, the dialects of failure, retries, and a limiter for each key.
//
// An adapter sends its calls with [Client.Do], inside [Retry.Stream]:
//
//	key := wire.For(base, wire.Account(secret))
//	client := wire.Client{Name: "Shop", Secrets: []string{secret}, Key: key}
//	return wire.Retry{}.Stream(ctx, key, func(ctx context.Context) iter.Seq2[uzda.Chunk, error] {
//		return func(yield func(uzda.Chunk, error) bool) {
//			if err := key.Wait(ctx, tokens); err != nil {
//				yield(nil, err)
//				return
//			}
//			reply, err := client.Do(ctx, call)
//			if err != nil {
//				yield(nil, err)
//				return
//			}
//			defer reply.Body.Close()
//			// reply.Kind, reply.Bytes or a reader of events over reply.Body;
//			// reply.Progress for each real event, reply.Event for one that is an error,
//			// Broken and Used for a read that failed.
//		}
//	})
//
// Every failure is a *uzda.ProviderError, except that of the caller's context,
// which is the context's cause.
package wire
