/**
 * E-mail addresses: which text is accepted as one, and when two spellings are equal. Operators who create
 * users, sign-up and sign-in share this rule, so that an address that was accepted can sign in. Pure.
 */
import { domainToASCII, domainToUnicode } from 'node:url'

/**
 * A host without dots is allowed (`owner@localhost`), and so are letters of any script (RFC 6531). No angle
 * brackets: mail would reach the address between them (RFC 5322 §3.4), which is another account's.
 */
const pattern = /^[^\s@<>\p{Cc}\p{Cf}]{1,64}@[^\s@.<>\p{Cc}\p{Cf}]+(?:\.[^\s@.<>\p{Cc}\p{Cf}]+)*$/u
export const maxEmailLength = 254

/** Demo users of sandbox mode have it. RFC 2606 §2 reserves `.example`: nobody gets mail there. */
export const demoDomain = 'demo.example'

export const isDemoEmail = (text: string): boolean =>
  tidyEmail(text).toLowerCase().endsWith(`@${demoDomain}`)

/** True for an address that mail could reach; it is deliberately no stricter than that. */
export function isEmail(text: string): boolean {
  return text.length <= maxEmailLength && pattern.test(text)
}

/** The address in the form that is stored and shown. */
export function tidyEmail(text: string): string {
  return text.trim().normalize('NFC')
}

/**
 * The spellings to look an address up by, the preferred one first: blanks, case and Unicode forms do not
 * matter. A browser sends the domain `bücher.example` as `xn--bcher-kva.example`, so both are looked up; the
 * first is stored.
 */
export function comparableEmails(text: string): readonly [string, ...string[]] {
  const plain = tidyEmail(text).toLowerCase()
  const at = plain.lastIndexOf('@') + 1
  const ascii = domainToASCII(plain.slice(at))
  if (at === 0 || ascii === '') return [plain]
  const spelled = [domainToUnicode(ascii), ascii].map((domain) => plain.slice(0, at) + domain)
  return [plain, ...spelled.filter((one) => one !== plain)]
}
