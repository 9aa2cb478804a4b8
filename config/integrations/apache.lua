-- Asks headgate about a request; see apache.conf. Where headgate does not answer, the request passes.
local host, port, path = "127.0.0.1", 7073, "/check?service_id=shop"
local timeout_s = 0.5

local socket = require "socket"
local told = { ["retry-after"] = "Retry-After", ["x-ratelimit-limit"] = "X-RateLimit-Limit",
               ["x-ratelimit-remaining"] = "X-RateLimit-Remaining", ["x-ratelimit-reset"] = "X-RateLimit-Reset",
               ["ratelimit-policy"] = "RateLimit-Policy", ["ratelimit"] = "RateLimit", -- limit_headers: draft-10
               ["x-ratelimit-over-limit"] = "X-RateLimit-Over-Limit" }
local connection -- of this thread

-- What a client may choose goes in headers, never in the query. A line of a head ends no other.
local function line(name, value)
    if value == nil or value == "" then
        return ""
    end
    return name .. ": " .. value:gsub("[\r\n]", " ") .. "\r\n"
end

-- The status and the head; or nil, and whether the connection had ended before anything came.
local function ask(request)
    local first, part
    local ok, why = connection:send(request)
    if ok then
        first, why, part = connection:receive("*l")
    end
    local status = first and tonumber(first:match("^HTTP/1%.1 (%d+) "))
    if not status then
        return nil, why == "closed" and (part or "") == ""
    end
    local head, size = {}, 0
    for text in function() return connection:receive("*l") end do
        if text == "" then
            if size > 0 then
                connection:receive(size)
            end
            return status, head
        end
        local name, value = text:match("^([^:]+): (.*)$")
        if name then
            head[name:lower()] = value
            size = name:lower() == "content-length" and tonumber(value) or size
        end
    end
    return nil
end

local function ask_anew(request)
    for _ = 1, 2 do
        local is_kept = connection ~= nil
        if not is_kept then
            connection = socket.tcp()
            connection:settimeout(timeout_s)
            connection:setoption("tcp-nodelay", true)
            if not connection:connect(host, port) then
                connection = nil
                return nil
            end
        end
        local status, head = ask(request)
        if status then
            return status, head
        end
        connection:close()
        connection = nil
        local has_ended = head
        if not (is_kept and has_ended) then -- what was sent may have been charged: it is not sent again
            return nil
        end
    end
    return nil
end

function headgate(r)
    local request = "GET " .. path .. " HTTP/1.1\r\nHost: headgate\r\n" ..
        line("X-Real-IP", r.useragent_ip) .. line("X-Original-URI", r.unparsed_uri) ..
        line("X-Api-Key", r.headers_in["X-Api-Key"])
    -- With a password: .. line("Authorization", "Bearer PASSWORD")
    local status, head = ask_anew(request .. "\r\n")
    -- A question that headgate finds wrong (the config here or there, or a head that is too large) does not pass: what a
    -- client can make wrong would be a way past every limit.
    if status and status >= 400 and status < 500 and status ~= 429 then
        r:err("headgate: status " .. status)
        return 500
    end
    if status ~= 200 and status ~= 429 then
        return apache2.DECLINED
    end
    local out = r.err_headers_out -- which stay, whatever the application answers
    for name, shown in pairs(told) do
        if head[name] then
            out[shown] = head[name]
        end
    end
    return status == 429 and 429 or apache2.DECLINED
end
