import { Agent, type ClientRequestArgs } from 'node:http';
import type { NetConnectOpts } from 'node:net';
import type { Duplex } from 'node:stream';
import { reachUpstream } from './reachUpstream.ts';

/** Keeps the connections to one upstream. A request gets one that stands, so whatever fails before that was never sent. */
export class UpstreamAgent extends Agent {
  // Declared, as Node calls it with options that its types do not join.
  override createConnection(
    options: ClientRequestArgs,
    callback: (error: Error | null, stream: Duplex) => void = () => undefined,
  ): undefined {
    const give = callback as (error: Error | null, stream?: Duplex) => void;
    reachUpstream(options as NetConnectOpts).then(
      (socket) => give(null, socket),
      (error: Error) => give(error),
    );
  }
}
