from a2a_receiver import Compat, StandardWebhooks, TokenOnly

URL = "https://me.example.com/a2a/push"
compat = Compat(issuer="https://agent.example.com", audience=URL)
by_secret = StandardWebhooks(secrets=["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"])
stock_sdk = TokenOnly(notification_tokens=["the-token-of-your-push-config"])
