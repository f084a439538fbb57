import type { RequestListener, ServerResponse } from 'node:http';
import type { Mailbox } from './mailbox.ts';
import { mailsPage } from './mailsPage.ts';

/** Applies to the HTML of a mail: it loads nothing, runs nothing, and its links open in a tab of their own. */
const MAIL_POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox allow-popups allow-popups-to-escape-sandbox";

/** Serves the page `/` and the JSON `/mails`. */
export const createWebListener =
  (mailbox: Mailbox): RequestListener =>
  (req, res) => {
    const { pathname, searchParams } = new URL(req.url ?? '/', 'http://localhost');
    const to = searchParams.get('to') ?? undefined;
    const [, id = '', isHtml] = /^\/mails\/([\d-]+)(\/html)?$/.exec(pathname) ?? [];
    const mail = mailbox.find(id);
    if (pathname === '/') sendHtml(res, mailsPage(mailbox.list(to)));
    else if (pathname === '/health') sendJson(res, 200, { status: 'ok' });
    else if (pathname === '/mails') sendJson(res, 200, { mails: mailbox.list(to) });
    else if (mail && isHtml) sendHtml(res, `<base target="_blank">${mail.html}`, MAIL_POLICY);
    else if (mail) sendJson(res, 200, mail);
    else sendJson(res, 404, { error: 'There is no mail at this address.' });
  };

function sendHtml(res: ServerResponse, text: string, policy = "default-src 'self'; style-src 'unsafe-inline'"): void {
  res.writeHead(200, { 'content-type': 'text/html; charset=utf-8', 'content-security-policy': policy }).end(text);
}

function sendJson(res: ServerResponse, status: number, body: object): void {
  res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
