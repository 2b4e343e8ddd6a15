/** What mailed links do, for tests that assemble a door themselves. */
import { makeAttempts } from '#auth/sign-in/attempts.ts'
import { makeBrowsers } from '#auth/sign-in/browsers.ts'
import { type ByMail, type ByMailOptions, makeByMail } from '#auth/sign-in/by-mail.ts'
import { makePasswords } from '#auth/sign-in/password.ts'
import type { WindowStore } from '#fast/port.ts'

type Given = Pick<ByMailOptions, 'store' | 'clock' | 'signUp'> &
  Partial<ByMailOptions> & { readonly windows: WindowStore }

/** Without limits per address; links are mailed. */
export function openByMail({ windows, ...given }: Given): ByMail {
  const secret = new Uint8Array(32)
  return makeByMail({
    origin: () => 'https://bank.example.com',
    print: null,
    passwords: makePasswords(),
    attempts: makeAttempts({ windows, perAddress: 0, secret }),
    browsers: makeBrowsers({ secrets: [secret], clock: given.clock }),
    leastMs: 0,
    ...given,
  })
}
