import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { aSilentLogger } from '@turnpike/logging/createLogger';
import { findFreePort } from '@turnpike/test-support/findFreePort';
import { until } from '@turnpike/test-support/until';
import { untilMail } from '@turnpike/test-support/untilMail';
import { createTransport, type Transporter } from 'nodemailer';
import { MAX_MAIL_BYTES } from '../src/createSmtpServer.ts';
import { Mailbox } from '../src/mailbox.ts';
import { startMailCatcher } from '../src/startMailCatcher.ts';

let folder: string;
let url: string;
let ports: { port: number; smtpPort: number };
let close: () => Promise<void>;
let transport: Transporter;

const start = async () => {
  ({ close } = await startMailCatcher({ listenHost: '127.0.0.1', ...ports, folder, log: aSilentLogger() }));
};
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turnpike-mails-'));
  ports = { port: await findFreePort(), smtpPort: await findFreePort() };
  url = `http://localhost:${ports.port}`;
  transport = createTransport(`smtp://127.0.0.1:${ports.smtpPort}`, {
    from: 'Turnpike <no-reply@turnpike.localhost>',
  });
  await start();
});
afterEach(async () => {
  transport.close();
  await close();
  await rm(folder, { recursive: true });
});

const LINK = 'http://localhost:8092/account/link?a=1&b=2#token';
const aMail = (to: string, subject = 'Grüße von Turnpike — ein Link') => ({
  to: { name: '', address: to },
  subject,
  text: `Öffne ${LINK} bald.`,
  html: `<p>Öffne <a href="${LINK.replace('&', '&amp;')}">den Link</a> & <b>bald</b>.</p>`,
});
const read = async (path: string) => {
  const response = await fetch(url + path);
  return { status: response.status, headers: response.headers, text: await response.text() };
};
const list = async (query = '') => JSON.parse((await read(`/mails${query}`)).text).mails;

it('keeps a mail to any address, and gives it as JSON', async () => {
  expect(JSON.parse((await read('/mails')).text)).toEqual({ mails: [] });
  await transport.sendMail(aMail('Someone@Example.com'));

  const mail = await untilMail(url, { to: 'someone@example.com' });
  expect(mail).toEqual({
    id: expect.stringMatching(/^\d{13}-\d{6}$/),
    received_at: expect.stringMatching(/^20\d\d-/),
    from: { name: 'Turnpike', address: 'no-reply@turnpike.localhost' },
    to: ['someone@example.com'],
    subject: 'Grüße von Turnpike — ein Link',
    text: expect.stringMatching(/^Öffne http:\/\/localhost:8092\/account\/link\?a=1&b=2#token bald\.\s*$/),
    html: expect.stringContaining('den Link'),
  });
  expect(JSON.parse((await read(`/mails/${mail.id}`)).text)).toEqual(mail);
  expect(await readdir(folder)).toEqual([`${mail.id}.eml`]);
});

it('lists the newest first, and those to one address', async () => {
  for (const to of ['a@example.com', 'b@example.com', 'a@example.com'])
    await transport.sendMail(aMail(to, `for ${to}`));

  expect((await list()).map(({ to }: { to: string[] }) => to[0])).toEqual([
    'a@example.com',
    'b@example.com',
    'a@example.com',
  ]);
  const [newest, oldest] = await list('?to=A%40example.com');
  expect(newest.id > oldest.id).toBe(true);
  expect(await list('?to=nobody@example.com')).toEqual([]);
  expect(await untilMail(url, { to: 'a@example.com' })).toEqual(oldest);
  expect(await untilMail(url, { to: 'a@example.com', after: oldest })).toEqual(newest);
});

it('names the recipients of the envelope, whatever the headers say', async () => {
  await transport.sendMail({
    envelope: { from: 'x@example.com', to: ['hidden@example.com', 'second@example.com'] },
    headers: { 'X-Envelope-To': 'forged@example.com' },
    subject: 'To others',
    to: 'shown@example.com',
    text: 'text',
  });
  expect((await list())[0]).toMatchObject({ to: ['hidden@example.com', 'second@example.com'], html: '' });
});

it('has the mails again after a restart', async () => {
  await transport.sendMail(aMail('a@example.com'));
  const before = await list();
  await close();
  await start();
  expect(await list()).toEqual(before);
  await transport.sendMail(aMail('a@example.com'));
  expect((await list()).map(({ id }: { id: string }) => id)[1]).toBe(before[0].id);
});

it('refuses a mail that is too long, and goes on', async () => {
  const long = { ...aMail('a@example.com'), text: 'x\n'.repeat(MAX_MAIL_BYTES / 2) };
  await expect(transport.sendMail(long)).rejects.toMatchObject({ responseCode: 552 });
  await transport.sendMail(aMail('a@example.com', 'short'));
  expect((await list()).map(({ subject }: { subject: string }) => subject)).toEqual(['short']);
});

it('refuses a mail of a length that was not told, and offers neither authentication nor TLS', async () => {
  const socket = connect(ports.smtpPort, '127.0.0.1').setEncoding('utf8');
  let replies = '';
  socket.on('data', (text) => {
    replies += text;
  });
  const line = `${'x'.repeat(998)}\r\n`;
  const talk = [
    ['220', 'EHLO x'],
    ['250 ', 'MAIL FROM:<a@x.example>'],
    ['250', 'RCPT TO:<b@x.example>'],
    ['250', 'DATA'],
    ['354', `Subject: long\r\n\r\n${line.repeat(MAX_MAIL_BYTES / 1_000 + 1)}.`],
    ['552', 'QUIT'],
    ['221', ''],
  ] as const;
  for (const [code, next] of talk) {
    await until(`${code} before ${next.slice(0, 30)}`, () => replies.includes(code));
    if (next.startsWith('MAIL')) expect(replies).not.toMatch(/AUTH|STARTTLS/);
    replies = '';
    socket.write(`${next}\r\n`);
  }
  socket.destroy();
  expect(await list()).toEqual([]);
});

it('shows each mail on its page, with its link to click, and runs nothing of it', async () => {
  await transport.sendMail({
    ...aMail('a@example.com', '<script>alert(1)</script>'),
    html: '<script>alert(1)</script>',
  });
  const [{ id }] = await list();

  const page = await read('/');
  expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
  expect(page.text).not.toContain('<script>');
  expect(page.text).toContain('&lt;script&gt;alert(1)&lt;/script&gt;</strong> to a@example.com');
  expect(page.text).toContain(`<a href="${LINK.replace('&', '&amp;')}">`);
  expect(page.text).toContain(`src="/mails/${id}/html"`);
  const body = await read(`/mails/${id}/html`);
  expect(body.text).toContain('<script>alert(1)</script>');
  expect(body.headers.get('content-security-policy')).toMatch(/^default-src 'none'; .*sandbox allow-popups/);
});

it.each(['/mails/1', '/mails/1234567890123-000000', '/mails/1234567890123-000000/html', '/other', '/mails/../health'])(
  'has nothing at %s but for its own paths',
  async (path) => {
    expect((await read(path)).status).toBe(path.endsWith('health') ? 200 : 404);
  },
);

it('removes the oldest mails above 500', async () => {
  const mailbox = await Mailbox.open(folder);
  const message = (number: number) => Buffer.from(`Subject: ${number}\r\n\r\ntext\r\n`);
  for (let number = 1; number <= 502; number += 1) await mailbox.add(message(number), ['a@example.com']);

  const subjects = mailbox.list().map(({ subject }) => subject);
  expect([subjects.length, subjects[0], subjects.at(-1)]).toEqual([500, '502', '3']);
  const files = (await readdir(folder)).sort();
  expect(files.length).toBe(500);
  expect(await readFile(join(folder, files[0] ?? ''), 'utf8')).toContain('Subject: 3');
});
