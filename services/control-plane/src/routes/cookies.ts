import type { Request, Response } from 'express';

export const SESSION_COOKIE = '__Host-session';
/** Ties a sign-in at an identity provider to the browser that began it. */
export const SIGN_IN_COOKIE = '__Host-sign-in';
/** Both live for as long as the browser does, at most as long as what they open. */
const ATTRIBUTES = 'Path=/; Secure; HttpOnly; SameSite=Lax';

export const setCookie = (res: Response, name: string, value: string): void => {
  res.append('set-cookie', `${name}=${value}; ${ATTRIBUTES}`);
};

export const clearCookie = (res: Response, name: string): void => {
  res.append('set-cookie', `${name}=; Max-Age=0; ${ATTRIBUTES}`);
};

/** Returns the value of a cookie. Undefined where the browser sent none, or two of the name. */
export function readCookie(req: Request, name: string): string | undefined {
  const pairs = (req.headers.cookie ?? '').split(';').map((pair) => pair.trim().split('='));
  const values = pairs.filter(([key]) => key === name).map(([, value]) => value);
  return values.length === 1 ? values[0] : undefined;
}
