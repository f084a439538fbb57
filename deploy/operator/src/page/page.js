// Shows the parts of the operator's page, each read anew every 5 s. The server escapes their text.
const SESSION = 'turnpike-session';
const INTERVAL_MS = 5_000;
const state = document.querySelector('#state');

/** Exchanges the one-time secret of the address for a session of this tab. */
async function openSession() {
  const secret = location.hash.slice(1);
  if (secret === '') return;
  history.replaceState(null, '', '/');
  const response = await fetch('/session', { method: 'POST', headers: { authorization: `Bearer ${secret}` } });
  if (response.ok) sessionStorage.setItem(SESSION, await response.text());
}

async function read(path) {
  const headers = { authorization: `Bearer ${sessionStorage.getItem(SESSION)}` };
  const response = await fetch(path, { headers, signal: AbortSignal.timeout(60_000) });
  if (response.status === 401)
    throw new Error('The address works once, in one tab. Start "turnpike console" again for a new one.');
  if (!response.ok) throw new Error(`${path} answered ${response.status}.`);
  return response;
}

/** Returns the element in which a part is shown. */
function addPart({ region, title }, isFirstOfRegion) {
  const parts = document.querySelector('#parts');
  if (isFirstOfRegion) parts.append(Object.assign(document.createElement('h2'), { textContent: region }));
  const section = document.createElement('section');
  section.ariaLabel = `${title}, ${region}`;
  const body = Object.assign(document.createElement('div'), { textContent: 'Loading.' });
  section.append(Object.assign(document.createElement('h3'), { textContent: title }), body);
  parts.append(section);
  return { section, body };
}

/** Reads a part again and again, until the command has ended. */
async function follow({ path }, { section, body }) {
  let shown = '';
  while (true) {
    const response = await read(path);
    const text = await response.text();
    section.classList.toggle('look', response.headers.get('x-turnpike-look') === 'yes');
    if (text !== shown) body.innerHTML = text;
    shown = text;
    state.textContent = `As of ${new Date().toLocaleTimeString('en-GB')}.`;
    await new Promise((resolve) => setTimeout(resolve, INTERVAL_MS));
  }
}

try {
  await openSession();
  const parts = await (await read('/parts')).json();
  await Promise.all(parts.map((part, index) => follow(part, addPart(part, part.region !== parts[index - 1]?.region))));
} catch (error) {
  const since = state.textContent.startsWith('As of') ? ` ${state.textContent}` : '';
  state.textContent = error instanceof TypeError ? `"turnpike console" has ended.${since}` : `${error.message}${since}`;
}
