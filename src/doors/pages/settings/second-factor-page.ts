/** The pages of the second factor: set up, recovery codes, switching off. Rendering only. */
import type { SetUp } from '#auth/sign-in/second-factor.ts'
import { type Html, html } from '../html.ts'
import { icon } from '../icons.ts'
import { alertBox, field, hidden, leadingButton } from '../layout.ts'
import { renderQrCode } from './qr-code.ts'

export interface SetUpOptions {
  readonly formToken: string
  readonly setUp: SetUp
  readonly message: string | null
  readonly isRefused: boolean
}

export function renderSetUp({ formToken, setUp, message, isRefused }: SetUpOptions): Html {
  return html`<article class="card">
<h1>Set up a second factor</h1>
<p>From then on, signing in needs your password and a code from an authenticator app.</p>
${alertBox(message)}
<p><strong>1.</strong> Scan this with the app, or type the key into it:</p>
${renderQrCode(setUp.uri, 'The key below, to scan')}
<p><output name="secret" data-copy="the key">${setUp.text}</output></p>
<form method="post" action="/settings/second-factor" novalidate>
${hidden('token', formToken)}
${hidden('setUp', setUp.id)}
<p><strong>2.</strong> Enter the code that the app shows:</p>
${field({ name: 'code', label: 'Code', type: 'text', autocomplete: 'one-time-code', hint: 'Six digits', problem: isRefused ? 'Check the code, and the clock of the device with the app' : undefined, autofocus: isRefused })}
<button type="submit">Switch on</button>
</form>
<p><a href="/settings">Not now</a></p>
</article>`
}

export interface SecondFactorOptions {
  readonly formToken: string
  /** New recovery codes, shown this once. */
  readonly codes: readonly string[]
  readonly codesLeft: number
  /** Another page has switched it on while this one was open. */
  readonly wasOn: boolean
  readonly hasApp: boolean
  readonly hasPasskeys: boolean
}

export function renderSecondFactor(options: SecondFactorOptions): Html {
  const { formToken, codes, codesLeft, wasOn, hasApp, hasPasskeys } = options
  return html`<h1>Second factor</h1>
${wasOn && html`<p class="alert" role="alert">The second factor is on already; nothing was changed. If you did not do this in another page, switch it off and set it up again.</p>`}
${codes.length > 0 && renderCodes(codes)}
<p>The second factor is <strong>on</strong>: signing in needs ${hasPasskeys ? `a passkey, or your password and a ${hasApp ? 'code' : 'recovery code'}` : 'your password and a code'}.</p>
<h2>Recovery codes</h2>
<p>${codesLeft === 0 ? 'None is left.' : codesLeft === 1 ? 'One is left.' : html`${codesLeft} are left.`} Each signs you in once, when you do not have the ${hasApp ? 'app' : 'passkey'}.</p>
<div class="actions">
<form method="post" action="/settings/second-factor/codes">${hidden('token', formToken)}<button type="submit" class="secondary outline">Create new recovery codes</button></form>
${hasApp ? leadingButton('/settings/second-factor/remove', 'Switch off', { look: 'outline danger' }) : leadingButton('/settings/second-factor/app', 'Set up an authenticator app', { look: 'secondary outline' })}
</div>
<p><a href="/settings">Back to the settings</a></p>`
}

function renderCodes(codes: readonly string[]): Html {
  return html`<section class="card once" aria-labelledby="codes">
<h2 id="codes">Your recovery codes</h2>
<p>Keep them where you find them without your phone. They are not shown again, and former ones no longer work.</p>
<pre><output name="secret" data-copy="the recovery codes">${codes.join('\n')}</output></pre>
<p class="downloads">${icon('download')}<a href="data:text/plain;charset=utf-8,${encodeURIComponent(`${codes.join('\r\n')}\r\n`)}" download="tributary-recovery-codes.txt">Save them as a file</a></p>
</section>`
}

export interface RemoveFactorOptions {
  readonly formToken: string
  /** They stay, and so does the second factor. */
  readonly hasPasskeys: boolean
  readonly message: string | null
  /** The message is about the code that was given, and stands at its field. */
  readonly isRefused: boolean
}

/** The confirmation before the second factor is switched off. */
export function renderRemoveFactor(options: RemoveFactorOptions): Html {
  const { formToken, hasPasskeys, message, isRefused } = options
  return html`<article class="card">
<h1>Switch off the second factor?</h1>
${hasPasskeys ? html`<p>The authenticator app ends. Your passkeys and recovery codes stay: the password alone still does not sign you in.</p>` : html`<p>From then on, your password alone signs you in. The recovery codes end too.</p>`}
${alertBox(isRefused ? null : message)}
<form method="post" action="/settings/second-factor/remove" novalidate>
${hidden('token', formToken)}
${field({ name: 'code', label: 'Code', type: 'text', autocomplete: 'one-time-code', hint: 'A new one from the app, or a recovery code', problem: (isRefused && message) || undefined, autofocus: true })}
<div class="choices">
<button type="submit" name="decision" value="confirm">Switch off</button>
<button type="submit" name="decision" value="cancel" class="secondary outline">Keep it</button>
</div>
</form>
</article>`
}
