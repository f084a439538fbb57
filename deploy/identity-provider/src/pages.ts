import { type Html, html } from '@turnpike/http-service/html';

/** A user of the identity provider. */
export interface User {
  /** The subject of its ID tokens. */
  id: string;
  name: string;
  email: string;
  emailVerified: boolean;
}

export const USERS: readonly User[] = [
  { id: 'ada', name: 'Ada', email: 'ada@example.com', emailVerified: true },
  { id: 'ben', name: 'Ben', email: 'ben@example.com', emailVerified: false },
  { id: 'cleo', name: 'Cleo', email: 'cleo@example.com', emailVerified: true },
];

export const findUser = (id: string | null | undefined): User | undefined => USERS.find((user) => user.id === id);

const STYLE = `
  body { font: 16px/1.5 system-ui, sans-serif; max-width: 30rem; margin: 4rem auto; padding: 0 1rem; }
  button { display: block; width: 100%; margin: .5rem 0; padding: .75rem; font: inherit; text-align: left; cursor: pointer; }
  small { display: block; opacity: .75; }`;

const toPage = (title: string, body: Html): string =>
  html`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${title}</title>
<style>${STYLE}</style>
<h1>${title}</h1>
${body}
<p><small>This identity provider belongs to a local stack of Turnpike. It asks for no password.</small></p>
</html>
`.text;

const toAddress = ({ email, emailVerified }: User): string =>
  `${email} (${emailVerified ? 'verified' : 'not verified'})`;

/** The page with a button for each user. Each button signs the user in. */
export function signInPage(clientId: string): string {
  const buttons = USERS.map(
    (user) => html`<button name="user" value="${user.id}">${user.name}<small>${toAddress(user)}</small></button>`,
  );
  return toPage(
    'Choose a user',
    html`<p>You sign in to <strong>${clientId}</strong>.</p>
<form method="post">${buttons}<button>Cancel</button></form>`,
  );
}

/** The provider's own page: the users, and the way to sign out here. */
export function homePage(user: User | undefined): string {
  const users = USERS.map((each) => html`<li>${each.name}, ${toAddress(each)}</li>`);
  const session = user
    ? html`<p>${user.name} is signed in here. <a href="/session/end">Sign out</a></p>`
    : html`<p>No user is signed in here.</p>`;
  return toPage('Identity provider', html`${session}<ul>${users}</ul>`);
}

export const signOutPage = (form: Html): string =>
  toPage(
    'Sign out',
    html`${form}<input type="hidden" name="logout" value="yes" form="op.logoutForm">
<button form="op.logoutForm">Sign out</button>`,
  );

export const signedOutPage = (): string => toPage('Signed out', html`<p><a href="/">Identity provider</a></p>`);

export const errorPage = (problems: object): string =>
  toPage(
    'The request was refused',
    html`<ul>${Object.entries(problems).map(([name, value]) => html`<li>${name}: ${String(value)}</li>`)}</ul>`,
  );
