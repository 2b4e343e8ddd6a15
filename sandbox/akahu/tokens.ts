/**
 * `POST /token` of the Akahu emulator: a short-lived, single-use code for the redirect it was issued to becomes the
 * person's user token. There is no consent page; `issue` stands for the person's agreement.
 */
import type { EmulatorReply } from '../emulator.ts'
import type { AkahuApp } from './auth.ts'
import type { AkahuPerson } from './people.ts'

const codeLifeMs = 60_000

export interface TokenExchange {
  /** The code that Akahu would put into the redirect once the person agreed. */
  issue(person: AkahuPerson, redirectUri: string): string
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

  function issue(person: AkahuPerson, redirectUri: string): string {
    count += 1
    const code = `code_${count}`
    codes.set(code, { person, redirectUri, until: clock.now() + codeLifeMs })
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
