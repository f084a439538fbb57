/** The users of the local stack's identity provider. `cancel` presses the button that ends the sign-in. */
export type ProviderUser = 'ada' | 'ben' | 'cleo' | 'cancel';

export interface SignInOptions {
  user: ProviderUser;
  /** The browser's cookies of the provider, by name. A second call with the same ones finds the session of the first. */
  cookies?: Map<string, string>;
}

/**
 * Follows an authorization request at the local stack's identity provider as a browser does, and chooses `user` where the provider
 * asks. Returns the address of the client to which the provider then leads, with its code or error. Throws on an error page.
 */
export async function signInAt(authorizationUrl: string | URL, options: SignInOptions): Promise<URL> {
  const { user, cookies = new Map<string, string>() } = options;
  const { origin } = new URL(authorizationUrl);
  let url = new URL(authorizationUrl);
  let form: URLSearchParams | undefined;
  while (url.origin === origin) {
    const response = await fetch(url, {
      method: form ? 'POST' : 'GET',
      redirect: 'manual',
      headers: { cookie: Array.from(cookies, ([name, value]) => `${name}=${value}`).join('; ') },
      body: form ?? null,
    });
    keepCookies(response, cookies);
    const page = await response.text();
    const location = response.headers.get('location');
    if (location === null && !/<form[^>]* method="post"/.test(page))
      throw new Error(`${url} answered ${response.status}: ${page}`);
    form = location === null ? fillForm(page, user) : undefined;
    url = new URL(location ?? /<form[^>]* action="([^"]+)"/.exec(page)?.[1] ?? url, url);
  }
  return url;
}

function keepCookies(response: Response, cookies: Map<string, string>): void {
  for (const line of response.headers.getSetCookie()) {
    const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
    if (value === '') cookies.delete(name);
    else cookies.set(name, value);
  }
}

/** The fields of a page's form, as they are sent by the user's button or by the page itself. */
function fillForm(page: string, user: ProviderUser): URLSearchParams {
  const hidden = page.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g);
  const fields = new URLSearchParams();
  for (const [, name = '', value = ''] of hidden) fields.append(name, value);
  if (page.includes(`name="user" value="${user}"`)) fields.append('user', user);
  return fields;
}
