import { html } from '@turnpike/http-service/html';
import { z } from 'zod';

export interface MailText {
  subject: string;
  text: string;
  html: string;
}

const linkData = z.object({ path: z.string() });
const invitationData = z.object({ path: z.string(), organization: z.string(), inviter: z.string(), role: z.string() });

const paymentData = z.object({ path: z.string(), amount: z.string(), reason: z.string() });
const alertData = z.object({ path: z.string(), what: z.string(), workspace: z.string() });
const cardholderData = z.object({ path: z.string(), amount: z.string(), days: z.string() });

/** The data of each template. */
const DATA = {
  sign_in: linkData,
  step_up: linkData,
  invitation: invitationData,
  wants_cardholder: cardholderData,
  automatic_top_up_declined: paymentData,
  automatic_top_up_off: paymentData,
  automatic_top_up_limit: paymentData,
  alert: alertData,
};
export type Template = keyof typeof DATA;
/** A mail to be sent: the words of a template, to one address. */
export type MailOf<T extends Template = Template> = {
  [Name in T]: { template: Name; address: string; data: z.infer<(typeof DATA)[Name]> };
}[T];

const LIMITS: Record<string, string> = {
  day_limit: 'the limit of the day',
  month_limit: 'the limit of the month',
  account_limit: 'the monthly limit of the account',
};

/** Writes the words of a mail. Links lead to the account layer's own pages. */
export function writeMail(template: string, data: unknown, accountOrigin: string): MailText {
  if (template === 'sign_in') {
    const { path } = linkData.parse(data);
    return aMail('Your sign-in link', [
      'Open this link to sign in to Turnpike. It works once, for 15 minutes.',
      { link: `${accountOrigin}${path}` },
      'If you did not ask for it, ignore this mail. Without the link, it signs no one in.',
    ]);
  }
  if (template === 'step_up') {
    const { path } = linkData.parse(data);
    return aMail('Confirm that it is you', [
      'Open this link in the browser in which you are signed in to Turnpike. It works once, for 15 minutes.',
      { link: `${accountOrigin}${path}` },
      'If you did not ask for it, end your other sessions, because another person may be signed in as you.',
    ]);
  }
  if (template === 'invitation') {
    const { path, organization, inviter, role } = invitationData.parse(data);
    return aMail(`${inviter} invites you to ${organization}`, [
      `${inviter} invites you to join ${organization} on Turnpike as ${role.replace('_', ' ')}. The invitation is valid for 7 days.`,
      { link: `${accountOrigin}${path}` },
      'It is for this address alone. If you do not know the sender, ignore this mail.',
    ]);
  }
  if (template === 'wants_cardholder') {
    const { path, amount, days } = cardholderData.parse(data);
    return aMail(`Your bank wants to ask you about ${amount}`, [
      `An automatic top-up of ${amount} plus tax was not charged, because your bank wants to ask the cardholder. Open this page to pay it within ${days} days.`,
      { link: `${accountOrigin}${path}` },
      'Until then, no other automatic top-up begins.',
    ]);
  }
  if (template === 'automatic_top_up_declined') {
    const { path, amount, reason } = paymentData.parse(data);
    return aMail(`An automatic top-up of ${amount} was declined`, [
      `The saved card was not charged for an automatic top-up of ${amount}. Reason: ${reason}. It is tried again after a pause.`,
      { link: `${accountOrigin}${path}` },
      'You can pay at once, or save another card. After four declines within 7 days, automatic top-ups are switched off.',
    ]);
  }
  if (template === 'automatic_top_up_off') {
    const { path, amount, reason } = paymentData.parse(data);
    return aMail('Automatic top-ups are switched off', [
      `The saved card was not charged for an automatic top-up of ${amount}. Reason: ${reason}. Automatic top-ups of this workspace are off now.`,
      { link: `${accountOrigin}${path}` },
      'Calls are refused once the balance is used up. Pay, or switch automatic top-ups on with another card.',
    ]);
  }
  if (template === 'automatic_top_up_limit') {
    const { path, amount, reason } = paymentData.parse(data);
    return aMail(`Automatic top-ups have reached ${LIMITS[reason] ?? 'their limit'}`, [
      `The balance is low, and one more automatic top-up of ${amount} would be above ${LIMITS[reason] ?? 'their limit'}. Nothing was charged.`,
      { link: `${accountOrigin}${path}` },
      'You can pay at once, or set another limit. Calls are refused once the balance is used up.',
    ]);
  }
  if (template === 'alert') {
    const { path, what, workspace } = alertData.parse(data);
    return aMail(`${workspace}: ${what}`, [
      `The region of the workspace ${workspace} reports that its ${what}.`,
      { link: `${accountOrigin}${path}` },
      'You get this mail because alerts of this workspace are mailed to the members who may pay. They can change that.',
    ]);
  }
  throw new Error(`there is no mail template ${template}`);
}

type Part = string | { link: string };

function aMail(subject: string, parts: Part[]): MailText {
  const text = parts.map((part) => (typeof part === 'string' ? part : part.link)).join('\n\n');
  const paragraphs = parts.map((part) =>
    typeof part === 'string' ? html`<p>${part}</p>\n` : html`<p><a href="${part.link}">${part.link}</a></p>\n`,
  );
  // A subject is one line, whatever the name of the organization is.
  return {
    subject: subject.replaceAll(/\s+/g, ' '),
    text: `${text}\n`,
    html: html`<!doctype html>\n${paragraphs}`.text,
  };
}
