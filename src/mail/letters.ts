/**
 * The texts of all mails: subject and body in plain words, in the language of the pages. Names that others
 * chose (of an institution, a key, an agent) stand in quotes, are shortened, and lose whatever is no visible
 * character. Pure.
 */
import type { SingleUseKind } from '#store/ports/single-use.ts'

export interface LetterText {
  readonly subject: string
  readonly text: string
}

/** `until`: as a reader is told. */
interface WithLink {
  readonly host: string
  readonly url: string
  readonly until: string
}

type Subject = Readonly<Record<SingleUseKind, (about: WithLink) => LetterText>>

export const urlLetters: Subject = {
  invitation: ({ host, url, until }) => ({
    subject: `Your invitation to Tributary at ${host}`,
    text: join(
      `You are invited to make an account at ${host}, where you see your banks and brokers in one place and decide which programs may read them.`,
      'Open this page and choose a password:',
      url,
      `It works once, until ${until}.`,
      'If you do not expect this mail, do nothing: no account is made.',
    ),
  }),
  confirmation: ({ host, url, until }) => ({
    subject: 'Confirm your e-mail address',
    text: join(
      `An account at ${host} was made with this e-mail address. Open this page, sign in and confirm that it is yours:`,
      url,
      `It works once, until ${until}. Notices about your connections and keys are sent to confirmed addresses only.`,
      'If you did not make the account, do nothing.',
    ),
  }),
  reset: ({ host, url, until }) => ({
    subject: 'Choose a new password',
    text: join(
      `Somebody asked for a new password for your account at ${host}. Open this page to choose one:`,
      url,
      `It works once, until ${until}. All browsers are then signed out; a second factor stays as it is. If the address was never confirmed, you get a new account instead.`,
      'If you did not ask for it, do nothing: your password stays as it is.',
    ),
  }),
}

export function reconnectLetter(about: {
  readonly institution: string
  readonly url: string
}): LetterText {
  const name = quote(about.institution)
  return {
    subject: `${toLine(about.institution)} has to be reconnected`,
    text: join(
      `The permission to read ${name} has ended or was withdrawn. Nothing new is read from there until you give it again.`,
      'Reconnect it here; its accounts keep their ids:',
      about.url,
      'If you have ended it yourself, remove the connection there.',
    ),
  }
}

export function expiryLetter(about: {
  readonly institution: string
  readonly day: string
  readonly url: string
}): LetterText {
  return {
    subject: `The permission to read ${toLine(about.institution)} ends on ${about.day}`,
    text: join(
      `Your permission to read ${quote(about.institution)} ends on ${about.day}. After that nothing new is read from there.`,
      'To keep it, reconnect before then:',
      about.url,
      'If you do not need it any more, do nothing.',
    ),
  }
}

export function disabledLetter(about: {
  readonly host: string
  readonly reason: 'gone' | 'failing'
  readonly url: string
}): LetterText {
  const why =
    about.reason === 'gone'
      ? 'It answered that it is gone (status 410).'
      : 'It has failed every attempt for five days.'
  return {
    subject: 'A webhook endpoint of yours was disabled',
    text: join(
      `The webhook endpoint at ${quote(about.host)} was disabled. ${why} No events are sent to it any more.`,
      'When it works again, enable it here and replay what it missed:',
      about.url,
      'If you do not need it any more, remove it there.',
    ),
  }
}

export function keyLetter(about: {
  readonly name: string
  readonly byOperator: boolean
  readonly isRotation?: boolean | undefined
  readonly url: string
}): LetterText {
  const isRotation = about.isRotation === true
  const who = about.byOperator ? 'by the operator of this server' : 'in your account'
  return {
    subject: isRotation ? 'An API key has a new secret' : 'A new API key was made',
    text: join(
      isRotation
        ? `The API key ${quote(about.name)} was given a new secret ${who}. Whoever has it can read what the key may see.`
        : `The API key ${quote(about.name)} was made ${who}. Whoever has it can read what your plan allows.`,
      'If that was not you, revoke it here and change your password:',
      about.url,
    ),
  }
}

export function passkeyLetter(about: { readonly name: string; readonly url: string }): LetterText {
  return {
    subject: 'A passkey was added to your account',
    text: join(
      `The passkey ${quote(about.name)} was added to your account. Whoever has it can sign in without your password.`,
      'If that was not you, remove it here and change your password:',
      about.url,
    ),
  }
}

export function agentLetter(about: {
  readonly name: string
  readonly redirectHost: string
  readonly url: string
}): LetterText {
  return {
    subject: 'A new agent was connected',
    text: join(
      `An agent that calls itself ${quote(about.name)} was allowed to read your data. It is reached at ${quote(about.redirectHost)}.`,
      'If that was not you, disconnect it here and change your password:',
      about.url,
    ),
  }
}

/** The last lines of every mail. */
export function sign({ subject, text }: LetterText, origin: string): LetterText {
  return { subject, text: `${text}\n\n-- \nTributary at ${origin}\n` }
}

function join(...paragraphs: readonly string[]): string {
  return paragraphs.join('\n\n')
}

const maxLetters = 80

/** One line of visible characters. */
function toLine(name: string): string {
  const shown = name
    .replace(/[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}]/gu, ' ')
    .replace(/\s+/g, ' ')
    .trim()
  const letters = [...shown]
  return letters.length <= maxLetters ? shown : `${letters.slice(0, maxLetters - 1).join('')}…`
}

function quote(name: string): string {
  return `“${toLine(name).replace(/[“”]/g, '"')}”`
}
