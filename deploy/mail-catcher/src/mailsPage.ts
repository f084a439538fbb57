import { type Html, html } from '@turnpike/http-service/html';
import type { Mail } from './mailbox.ts';

const LINK = /(https?:\/\/[^\s<>"]+)/;
const STYLE = `
  body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
  summary { padding: .5rem 0; cursor: pointer; }
  time { opacity: .75; }
  pre { white-space: pre-wrap; overflow-wrap: anywhere; }
  iframe { width: 100%; height: 24rem; border: 1px solid #8888; background: #fff; }`;

/** The page of all mails. A mail opens in place, with its links. */
export const mailsPage = (mails: Mail[]): string =>
  html`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Mails of the local stack</title>
<style>${STYLE}</style>
<h1>Mails</h1>
<p>Mails of this local stack end here: none is delivered. <a href="/">Reload</a></p>
${mails.length === 0 ? html`<p>No mail has come yet.</p>` : mails.map(toEntry)}
</html>
`.text;

const toEntry = (mail: Mail): Html => html`<details>
<summary><time>${mail.received_at}</time> <strong>${mail.subject}</strong> to ${mail.to.join(', ')}</summary>
<p>From ${mail.from.name} &lt;${mail.from.address}&gt;</p>
<pre>${toLinks(mail.text)}</pre>
${mail.html === '' ? '' : html`<iframe loading="lazy" title="${mail.subject}" src="/mails/${mail.id}/html"></iframe>`}
</details>
`;

/** Splits a text at its addresses, each of which becomes a link. */
const toLinks = (text: string): Html[] =>
  text.split(LINK).map((piece, index) => (index % 2 === 1 ? html`<a href="${piece}">${piece}</a>` : html`${piece}`));
