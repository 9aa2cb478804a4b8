-- Asks headgate about a request; see haproxy.cfg. The answer is in variables of the transaction: headgate_status (429:
-- refuse it; 500: headgate called the question wrong), and those of `told` (headgate_over: over the limit of a soft rule).
-- Where headgate does not answer, headgate_status is 0, and the request passes.
local url = "http://127.0.0.1:7073/check?service_id=shop"
local timeout_ms = 150 -- of each try; HAProxy before 2.8 tries four times

local told = {
    ["retry-after"] = "txn.headgate_retry_after",
    ["x-ratelimit-limit"] = "txn.headgate_limit",
    ["x-ratelimit-remaining"] = "txn.headgate_remaining",
    ["x-ratelimit-reset"] = "txn.headgate_reset",
    ["ratelimit-policy"] = "txn.headgate_policy", -- with limit_headers: draft-10
    ["ratelimit"] = "txn.headgate_ratelimit",
    ["x-ratelimit-over-limit"] = "txn.headgate_over",
}

local function headgate(txn)
    -- What a client may choose goes in headers, never in the query: there it could add names of its own.
    local headers = {
        ["X-Real-IP"] = { txn.f:src() },
        ["X-Original-URI"] = { txn.f:pathq() },
    }
    local key = txn.f:req_fhdr("X-Api-Key") -- req_hdr would end it at a comma
    if key ~= nil and key ~= "" then
        headers["X-Api-Key"] = { key }
    end
    -- With a password: headers["Authorization"] = { "Bearer PASSWORD" }
    local answer = core.httpclient():get({ url = url, headers = headers, timeout = timeout_ms })
    local status = answer ~= nil and answer.status or 0
    -- A question that headgate finds wrong (the config here or there, or a head that is too large) does not pass: what
    -- a client can make wrong would be a way past every limit.
    if status >= 400 and status < 500 and status ~= 429 then
        status = 500
        core.Warning("headgate: status " .. answer.status .. ": " .. (answer.body or ""):gsub("%s+$", ""))
    end
    txn:set_var("txn.headgate_status", status)
    if status ~= 200 and status ~= 429 then
        return
    end
    for name, variable in pairs(told) do
        if answer.headers[name] ~= nil then
            txn:set_var(variable, answer.headers[name][0])
        end
    end
end

core.register_action("headgate", { "http-req" }, headgate, 0)
