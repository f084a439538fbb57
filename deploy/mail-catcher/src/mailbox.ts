import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import PostalMime from 'postal-mime';

/** The oldest mails above this number are removed. */
const MAX_MAILS = 500;
/** The recipients of the envelope, as the first header of a kept mail. */
const ENVELOPE_HEADER = 'X-Envelope-To';
const FILE = /^(\d{13}-\d{6})\.eml$/;

/** A mail as the JSON of the catcher has it. */
export interface Mail {
  /** Mails that arrive later have greater ids. */
  id: string;
  received_at: string;
  from: { name: string; address: string };
  /** Every recipient of the envelope, in lower case. */
  to: string[];
  subject: string;
  /** The part for programs without HTML; empty if the mail has none. */
  text: string;
  /** The part in HTML; empty if the mail has none. */
  html: string;
}

/** The mails of a folder: each is a file `<id>.eml`, which mail programs open. */
export class Mailbox {
  readonly #folder: string;
  /** The oldest first. */
  readonly #mails: Mail[];
  #lastId = '';

  private constructor(folder: string, mails: Mail[]) {
    this.#folder = folder;
    this.#mails = mails;
    this.#lastId = mails.at(-1)?.id ?? '';
  }

  /** Reads the mails that the folder has, and makes the folder if it is missing. */
  static async open(folder: string): Promise<Mailbox> {
    await mkdir(folder, { recursive: true });
    const ids = (await readdir(folder)).flatMap((name) => FILE.exec(name)?.[1] ?? []).sort();
    const mails = ids.map(async (id) => parseMail(id, await readFile(join(folder, `${id}.eml`))));
    return new Mailbox(folder, await Promise.all(mails));
  }

  /** Keeps a mail as it came. Rejects what is no mail. Resolves when the file is written. */
  async add(message: Buffer, recipients: string[]): Promise<Mail> {
    const id = this.#nextId();
    const kept = Buffer.concat([Buffer.from(`${ENVELOPE_HEADER}: ${recipients.join(', ')}\r\n`), message]);
    const mail = await parseMail(id, kept);
    const file = join(this.#folder, `${id}.eml`);
    await writeFile(`${file}.partial`, kept);
    await rename(`${file}.partial`, file);
    this.#mails.push(mail);
    this.#mails.sort((a, b) => (a.id < b.id ? -1 : 1));
    for (const { id: oldId } of this.#mails.splice(0, this.#mails.length - MAX_MAILS))
      await rm(join(this.#folder, `${oldId}.eml`), { force: true });
    return mail;
  }

  /** Returns the mails, the newest first; with `to`, those to this address. */
  list(to?: string): Mail[] {
    const wanted = to?.toLowerCase();
    return this.#mails.filter((mail) => wanted === undefined || mail.to.includes(wanted)).reverse();
  }

  find(id: string): Mail | undefined {
    return this.#mails.find((mail) => mail.id === id);
  }

  /** Milliseconds since 1970 and a count, so that ids grow also within a millisecond. */
  #nextId(): string {
    const [lastMs = '', lastCount = ''] = this.#lastId.split('-');
    const ms = String(Math.max(Date.now(), Number(lastMs)));
    const count = ms === lastMs ? Number(lastCount) + 1 : 0;
    this.#lastId = `${ms}-${String(count).padStart(6, '0')}`;
    return this.#lastId;
  }
}

async function parseMail(id: string, kept: Buffer): Promise<Mail> {
  const { headers, from, subject = '', text = '', html = '' } = await PostalMime.parse(kept);
  const envelope = headers.find(({ key }) => key === ENVELOPE_HEADER.toLowerCase())?.value ?? '';
  return {
    id,
    received_at: new Date(Number(id.split('-')[0])).toISOString(),
    from: { name: from?.name ?? '', address: from?.address ?? '' },
    to: envelope.toLowerCase().split(', '),
    subject,
    text,
    html,
  };
}
