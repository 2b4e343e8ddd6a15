/**
 * `POST /token` of the Akahu emulator: a short-lived, single-use code for the redirect it was issued to
 * becomes the person's user token. `issue` follows the person's agreement (`authorise.ts`).
 */
import type { EmulatorReply } from '../emulator.ts'
import type { AkahuApp } from './auth.ts'
import type { AkahuPerson } from './people.ts'
import { digest } from './rows.ts'

const codeLifeMs = 60_000
/** Codes that nobody exchanges are forgotten beyond this number. */
const maxCodes = 1_000

export interface TokenExchange {
  /**
   * The code that goes into the redirect once the person agreed; valid for a minute unless said otherwise.
   */
  issue(person: AkahuPerson, redirectUri: string, lifeMs?: number): string
  exchange(body: string): EmulatorReply
}

interface Issued {
  readonly person: AkahuPerson
  readonly redirectUri: string
  readonly until: number
}

export function makeTokenExchange(app: AkahuApp, clock: { now(): number }): TokenExchange {
  const codes = new Map<string, Issued>()
  let count = 0

  function issue(person: AkahuPerson, redirectUri: string, lifeMs = codeLifeMs): string {
    count += 1
    const code = `code_${digest(`${person.user._id}|${clock.now()}|${count}`)}`
    if (codes.size >= maxCodes) codes.clear()
    codes.set(code, { person, redirectUri, until: clock.now() + lifeMs })
    return code
  }

  function exchange(body: string): EmulatorReply {
    const form = readForm(body)
    if (form === null) return oauthError('invalid_request', 'The body must be JSON')
    if (form.grant_type !== 'authorization_code') {
      return oauthError('unsupported_grant_type', 'Only authorization_code is supported')
    }
    if (form.client_id !== app.appToken || form.client_secret !== app.appSecret) {
      return oauthError('invalid_client', 'Unknown client')
    }
    const issued = codes.get(String(form.code))
    codes.delete(String(form.code))
    if (
      issued === undefined ||
      issued.redirectUri !== form.redirect_uri ||
      issued.until <= clock.now() ||
      issued.person.userToken === null
    ) {
      return oauthError('invalid_grant', 'The code is unknown, used or expired')
    }
    return {
      status: 200,
      body: {
        success: true,
        access_token: issued.person.userToken,
        token_type: 'bearer',
        scope: 'ENDURING_CONSENT',
      },
    }
  }

  return { issue, exchange }
}

function readForm(body: string): Record<string, unknown> | null {
  try {
    const parsed: unknown = JSON.parse(body)
    return typeof parsed === 'object' && parsed !== null ? { ...parsed } : null
  } catch {
    // The caller answers `invalid_request`.
    return null
  }
}

function oauthError(error: string, description: string): EmulatorReply {
  return { status: 400, body: { success: false, error, error_description: description } }
}
