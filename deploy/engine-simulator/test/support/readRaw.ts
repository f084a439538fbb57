import { request } from 'node:http';

/** An answer as it came over the wire. */
export interface RawAnswer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  /** Pieces as they arrived. An agent may join writes, but never cuts them. */
  pieces: Buffer[];
  text: string;
  /** `end`: as the framing promised. Otherwise the code of the error that broke it. */
  ending: string;
}

/** Posts JSON and reads until the answer ends or breaks, or until `isEnough` of it is there. Rejects without an answer. */
export function postRaw(
  url: string,
  body: object,
  { isEnough = () => false }: { isEnough?: (text: string) => boolean } = {},
): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    const req = request(
      url,
      { method: 'POST', agent: false, headers: { 'content-type': 'application/json' } },
      (res) => {
        const pieces: Buffer[] = [];
        const finish = (ending: string) =>
          resolve({
            status: res.statusCode ?? 0,
            headers: res.headers,
            pieces,
            text: Buffer.concat(pieces).toString(),
            ending,
          });
        res.on('data', (piece: Buffer) => {
          pieces.push(piece);
          if (!isEnough(Buffer.concat(pieces).toString())) return;
          finish('enough');
          res.destroy();
        });
        res.once('end', () => finish('end'));
        res.once('error', (error: NodeJS.ErrnoException) => finish(error.code ?? error.message));
      },
    );
    req.once('error', reject);
    req.end(JSON.stringify(body));
  });
}
