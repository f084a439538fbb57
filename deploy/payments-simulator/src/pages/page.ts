import { type Html, html } from '@turnpike/http-service/html';

const STYLE = `
  :root { color-scheme: light dark; }
  body { font: 16px/1.5 system-ui, sans-serif; max-width: 32rem; margin: 2rem auto; padding: 0 1rem; }
  a { color: inherit; }
  table { width: 100%; border-collapse: collapse; }
  th, td { padding: .25rem 0; text-align: left; }
  td { text-align: right; }
  .total { font-weight: bold; border-top: 1px solid; }
  fieldset { margin: 1rem 0; padding: .75rem 1rem; }
  label { display: block; padding: .25rem 0; }
  select, input[type=text] { display: block; width: 100%; box-sizing: border-box; padding: .5rem; font: inherit; }
  button { padding: .75rem 1.25rem; font: inherit; cursor: pointer; }
  [role=alert] { border: 2px solid; padding: .75rem 1rem; }
  ul { padding-left: 1.25rem; }`;

/** Returns a page of the simulator. */
export const toPage = (title: string, body: Html): string =>
  html`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<style>${STYLE}</style>
<main>
<h1>${title}</h1>
${body}
<p><small>This page belongs to the payments simulator of a local stack. No money moves.</small></p>
</main>
</html>
`.text;

export const toAlert = (text: string | undefined): Html | string =>
  text === undefined ? '' : html`<p role="alert">${text}</p>`;

/** Returns an amount of cents in words of its currency. */
export const toMoney = (cents: number, currency: string): string =>
  new Intl.NumberFormat('en-IE', { style: 'currency', currency: currency.toUpperCase() }).format(cents / 100);
