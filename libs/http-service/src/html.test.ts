import { expect, it } from '@jest/globals';
import { html } from './html.ts';

it('escapes what is inserted, and leaves markup that it has built', () => {
  const items = ['<b>', `"&'`].map((text) => html`<li title="${text}">${text}</li>`);
  expect(html`<ul class="${'a'}">${items}</ul> ${html`<hr>`} ${3} \n`.text).toBe(
    `<ul class="a"><li title="&lt;b&gt;">&lt;b&gt;</li><li title="&quot;&amp;&#39;">&quot;&amp;&#39;</li></ul> <hr> 3 \n`,
  );
});
