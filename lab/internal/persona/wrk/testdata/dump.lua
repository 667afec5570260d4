-- Print each number that was counted, and how often: what the rows were made of.
function done(summary, latency, requests)
   print("summary", summary.duration, summary.requests, summary.bytes)
   for name, of in pairs({latency = latency, requests = requests}) do
      print(string.format("%s %.17g %d %d", name, of.mean, of.min, of.max))
      for i = 1, #of do
         local value, count = of(i)
         print(name, value, count)
      end
   end
end
